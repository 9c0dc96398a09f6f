package main

// badLimits are values of the limits' flags that cannot be taken.
func badLimits() []badInput {
	const sizes = "expected a size such as 512MiB"
	return []badInput{
		{"memory zero", []string{"--memory", "0"}, `"0"`, sizes},
		{"memory negative", []string{"--memory", "-1M"}, `"-1M"`, sizes},
		{"memory garbage", []string{"--memory", "lots"}, `"lots"`, sizes},
		{"memory too small", []string{"--memory", "4K"}, `"4K"`, "at least 1MiB"},
		{"memory empty", []string{"--memory", ""}, `""`, sizes},
		{"pids zero", []string{"--pids", "0"}, `"0"`, "whole number from 16"},
		{"pids negative", []string{"--pids", "-20"}, `"-20"`, "whole number from 16"},
		{"pids garbage", []string{"--pids", "20x"}, `"20x"`, "whole number from 16"},
		{"cpus zero", []string{"--cpus", "0"}, `"0"`, "from 0.01"},
		{"cpus garbage", []string{"--cpus", "two"}, `"two"`, "from 0.01"},
		{"open files zero", []string{"--open-files", "0"}, `"0"`, "whole number from 1"},
		{"file size zero", []string{"--file-size", "0B"}, `"0B"`, sizes},
		{"file size garbage", []string{"--file-size", "1MB"}, `"1MB"`, sizes},
		{"cgroup parent elsewhere", []string{"--cgroup-parent", "/tmp"}, `"/tmp"`, "control group file system"},
		{"cgroup parent missing", []string{"--cgroup-parent", "/nope"}, `"/nope"`, "no such file or directory"},
		{"cgroup parent relative", []string{"--cgroup-parent", "nope"}, `"nope"`, "absolute"},
		{"cgroup parent empty", []string{"--cgroup-parent", ""}, `""`, "not empty"},
		{"cgroup parent in proc", []string{"--cgroup-parent", "/proc"}, `"/proc"`, "control group file system"},
	}
}
