module drover.dev/fleet-definitions

go 1.26.0

require (
	github.com/rancher/fleet v0.16.0 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
