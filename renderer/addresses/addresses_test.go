package addresses_test

import (
	"net/netip"
	"testing"

	"drover.dev/renderer/addresses"
)

func TestLinkLocalAddressesAreRejectedAlsoBehindATranslator(t *testing.T) {
	for _, text := range []string{
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "::",
		"224.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1",
		"::169.254.169.254",
	} {
		if addresses.Check(netip.MustParseAddr(text)) == nil {
			t.Errorf("%s is permitted", text)
		}
	}
	for _, text := range []string{"10.0.0.1", "127.0.0.1", "2001:db8::1", "64:ff9b::192.0.2.1", "::1"} {
		if err := addresses.Check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
