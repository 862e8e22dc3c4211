// Package addresses checks the addresses to which the program connects.
package addresses

import (
	"fmt"
	"net/netip"
	"slices"
)

// metadata has the addresses of cloud providers' metadata services outside of the link-local ranges.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("168.63.129.16"),
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	compatible = netip.MustParsePrefix("::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// Check rejects addresses that only the machine itself should reach.
func Check(address netip.Addr) error {
	for _, target := range targets(address.Unmap().WithZone("")) {
		forbidden := target.IsLinkLocalUnicast() || target.IsMulticast() || target.IsUnspecified()
		if forbidden || slices.Contains(metadata, target) {
			return fmt.Errorf("the address %s is a link-local, multicast or metadata address", address)
		}
	}
	return nil
}

// targets returns the addresses to which a translator or a tunnel can forward an IPv6 address: NAT64 (RFC 6052,
// RFC 8215), 6to4 (RFC 3056) and compatible addresses (RFC 4291). It returns other addresses unchanged.
func targets(address netip.Addr) []netip.Addr {
	if !address.Is6() {
		return []netip.Addr{address}
	}
	bytes := address.As16()
	last := [4]byte(bytes[12:16])
	found := []netip.Addr{address}
	switch {
	// A network chooses the length of its prefix, and so the place of the IPv4 address.
	case localNAT64.Contains(address):
		for _, at := range [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}} {
			// The bytes at the other places are usually zero.
			if bytes[at[0]] != 0 {
				found = append(found, netip.AddrFrom4([4]byte{bytes[at[0]], bytes[at[1]], bytes[at[2]], bytes[at[3]]}))
			}
		}
	case nat64.Contains(address):
		found = append(found, netip.AddrFrom4(last))
	// The last block has the unspecified and the loopback address.
	case compatible.Contains(address) && (last[0] != 0 || last[1] != 0):
		found = append(found, netip.AddrFrom4(last))
	case sixToFour.Contains(address):
		found = append(found, netip.AddrFrom4([4]byte(bytes[2:6])))
	}
	return found
}
