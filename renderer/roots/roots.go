// Package roots selects the CA certificates that the renderer trusts.
package roots

import (
	"crypto/x509"
	"errors"

	// Mozilla's CA certificates, for images without files with CA certificates.
	_ "golang.org/x/crypto/x509roots/fallback"
)

// Pool returns the system's CA certificates and those of a PEM text. Without CA certificates of the
// system, it returns Mozilla's.
func Pool(additional string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if additional != "" && !pool.AppendCertsFromPEM([]byte(additional)) {
		return nil, errors.New("the CA bundle has no certificate")
	}
	return pool, nil
}
