// Package systemd asks the user's systemd for scopes, and to move processes into
// groups below them, over the user's bus.
//
// It starts no processes, and makes and reads no control groups: package keeper
// and confine/cgroups do. It does not read the environment either: who calls it
// hands over where the bus is.
//
// The calls: https://www.freedesktop.org/software/systemd/man/org.freedesktop.systemd1.html
package systemd
