package policy

import (
	"fmt"
	"slices"

	"github.com/moby/sys/mountinfo"
)

// Mount is a mount of devices or of a kernel interface.
type Mount struct {
	Point string // where it lies
	Type  string // the file system's name, such as "devpts"
}

var (
	deviceTypes = []string{"devtmpfs", "devpts"}
	kernelTypes = []string{
		"proc", "sysfs", "cgroup", "cgroup2", "securityfs", "debugfs", "tracefs",
		"configfs", "bpf", "efivarfs", "pstore", "binfmt_misc", "selinuxfs", "fusectl", "resctrl",
		"nfsd", "rpc_pipefs", "binder",
	}
)

// Devices reports whether the mount holds device files.
func (m Mount) Devices() bool { return slices.Contains(deviceTypes, m.Type) }

func (m Mount) kernel() bool { return slices.Contains(kernelTypes, m.Type) }

// Mounts lists every mount that this process sees. A second mount of /dev, as a
// chroot has one, opens what the first one's rules close.
func Mounts() ([]Mount, error) {
	infos, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	var mounts []Mount
	for _, info := range infos {
		mounts = append(mounts, Mount{Point: info.Mountpoint, Type: info.FSType})
	}
	return mounts, nil
}

// grants says which devices or kernel interface a writable root would grant,
// or "".
func grants(root string, mounts []Mount) string {
	holder := Mount{Point: "/"}
	for _, m := range mounts {
		special := m.Devices() || m.kernel()
		if special && m.Point != root && Within(root, m.Point) {
			return fmt.Sprintf("it holds a mount of %s at %s, which it would grant as well", m.Type, m.Point)
		}
		if Within(m.Point, root) && len(m.Point) >= len(holder.Point) {
			holder = m // the last mount on a point is the one that is seen
		}
	}
	if holder.Devices() || holder.kernel() {
		return fmt.Sprintf("it lies on %s, mounted at %s: devices and kernel interfaces cannot be granted", holder.Type, holder.Point)
	}
	return ""
}
