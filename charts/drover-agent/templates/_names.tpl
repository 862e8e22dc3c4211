{{/* The names are fixed: the agent, the server and the roles know them. A test compares all of this
     with the manifest that `drover cluster import` prints. */}}
{{- define "agent.namespace" -}}drover-agent{{- end }}

{{- define "agent.labels" -}}
app.kubernetes.io/managed-by: drover
app.kubernetes.io/name: drover-agent
{{- end }}

{{/* Metadata of an object in the agent's namespace; the context is its name. */}}
{{- define "agent.metadata" -}}
labels:
  {{- include "agent.labels" . | nindent 2 }}
name: {{ . }}
namespace: {{ include "agent.namespace" . }}
{{- end }}

{{/* Metadata of a cluster-scoped object; the context is its name. */}}
{{- define "agent.clusterMetadata" -}}
labels:
  {{- include "agent.labels" . | nindent 2 }}
name: {{ . }}
{{- end }}

{{/* A list of names BASE-0 … BASE-15: the server spreads people over so many objects. */}}
{{- define "agent.chunks" -}}
{{- $base := . -}}
{{- range until 16 }}
- {{ $base }}-{{ . }}
{{- end }}
{{- end }}

{{- define "agent.health" -}}
- nonResourceURLs: [/livez, /readyz, /version]
  verbs: [get]
{{- end }}
