package roots_test

import (
	"crypto/x509"
	"testing"

	"drover.dev/renderer/roots"
)

// Images have no files with CA certificates.
func TestMachineWithoutCertificatesTrustsMozillasAuthorities(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "/dev/null")
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	pool, err := roots.Pool("")
	if err != nil {
		t.Fatal(err)
	}
	if pool.Equal(x509.NewCertPool()) {
		t.Fatal("the pool has no certificates")
	}
}

func TestAdditionalTextWithoutCertificateIsRejected(t *testing.T) {
	if _, err := roots.Pool("text"); err == nil {
		t.Fatal("the text is accepted")
	}
}
