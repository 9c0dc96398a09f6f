// Package kerneltest says what a test needs of the machine and its kernel, and
// puts a test's victim under a hostile outer seccomp filter.
//
// Every answer comes from this package's own raw calls: a probe of the product
// that wrongly says "missing" must fail its tests, not skip them. For the same
// reason this is the only package that may skip a test. With SANDBOX_REQUIRE
// naming a feature, as in
//
//	SANDBOX_REQUIRE=landlock=7,root,setpriv,gcc,git,python3,tty,cgroup1
//
// a test that finds the feature missing fails; without it the test is skipped
// and the reason names the feature. `make test` sets the variable to what this
// machine has.
//
// It is for tests alone: no product package imports it, and it does not say
// what the product can enforce.
package kerneltest
