package main

import (
	"errors"
	"net/http"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// permanentError is an error that another attempt does not solve.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// isPermanent returns true if another attempt has the same result until somebody changes the chart, the
// repository or the request.
func isPermanent(err error) bool {
	var permanent permanentError
	var status *errcode.ErrorResponse
	switch {
	case errors.As(err, &permanent):
		return true
	case errors.As(err, &status):
		return isPermanentStatus(status.StatusCode)
	}
	return errors.Is(err, errdef.ErrNotFound) || errors.Is(err, content.ErrMismatchedDigest)
}

func isPermanentStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return true
	}
	return false
}
