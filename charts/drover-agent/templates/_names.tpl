{{/* The names are constants of the agent, the server and the roles. A test compares this chart with the
     manifest that `drover cluster import` prints. */}}
{{- define "agent.namespace" -}}drover-agent{{- end }}

{{- define "nodeAgent.namespace" -}}drover-node-agent{{- end }}

{{- define "agent.labels" -}}
app.kubernetes.io/managed-by: drover
app.kubernetes.io/name: drover-agent
{{- end }}

{{/* Metadata of an object in the agent's namespace. The context is the name of the object. */}}
{{- define "agent.metadata" -}}
labels:
  {{- include "agent.labels" . | nindent 2 }}
name: {{ . }}
namespace: {{ include "agent.namespace" . }}
{{- end }}

{{/* The agent's image. `helm upgrade` keeps an image that the server has set, which the field managers show.
     Without access to the cluster (`helm template`), the image comes from the values. */}}
{{- define "agent.imageOfValues" -}}
{{- .Values.image.name | default (printf "drover-agent:%s" .Chart.AppVersion) }}
{{- end }}

{{- define "agent.image" -}}
{{- $image := include "agent.imageOfValues" . }}
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

{{/* The environment variables of the HTTP proxy. */}}
{{- define "agent.proxy" -}}
{{- if .Values.proxy.secretName }}
- name: HTTPS_PROXY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.proxy.secretName }}
      key: https-proxy
{{- else if .Values.proxy.https }}
- name: HTTPS_PROXY
  value: {{ .Values.proxy.https | quote }}
{{- end }}
{{- with .Values.proxy.noProxy }}
- name: NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end }}
