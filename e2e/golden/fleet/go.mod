// The script e2e/golden/generate reads the version of Fleet here. The program needs internal packages of
// Fleet, so the script builds the program inside of a copy of Fleet's module.
module drover.dev/golden/fleet

go 1.26.0

require github.com/rancher/fleet v0.16.0
