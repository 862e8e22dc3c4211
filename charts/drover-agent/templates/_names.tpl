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

{{/* Whoever set the image last decides: one that the server has set, an upgrade of Helm's leaves as it is.
     The fields' managers tell; where Helm cannot look (helm template), the values count. */}}
{{- define "agent.wantedImage" -}}
{{- .Values.image.name | default (printf "drover-agent:%s" .Chart.AppVersion) }}
{{- end }}

{{- define "agent.image" -}}
{{- $image := include "agent.wantedImage" . }}
{{- $live := lookup "apps/v1" "Deployment" (include "agent.namespace" .) "drover-agent" }}
{{- range dig "metadata" "managedFields" (list) $live }}
{{- if and (eq .manager "drover-server") (contains "\"f:image\":" (toJson .fieldsV1)) }}
{{- range $live.spec.template.spec.containers }}
{{- if eq .name "drover-agent" }}{{ $image = .image }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- $image }}
{{- end }}
