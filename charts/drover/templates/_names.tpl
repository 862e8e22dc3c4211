{{/* The hub's namespace with the server's state. A hub can have only one server. */}}
{{- define "drover.namespace" -}}drover-system{{- end }}

{{- define "drover.labels" -}}
app.kubernetes.io/name: drover
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "drover.selector" -}}
app.kubernetes.io/name: drover
{{- end }}

{{- define "drover.metadata" -}}
name: drover
namespace: {{ include "drover.namespace" . }}
labels:
  {{- include "drover.labels" . | nindent 2 }}
{{- end }}

{{/* The host of serverUrl, without the port. */}}
{{- define "drover.host" -}}
{{- get (urlParse .Values.serverUrl) "hostname" -}}
{{- end }}

{{/* The Secret with the certificate. Empty if the server creates its certificate. */}}
{{- define "drover.tlsSecret" -}}
{{- if eq .Values.tls.mode "secret" -}}{{ .Values.tls.secretName }}
{{- else if eq .Values.tls.mode "certManager" -}}{{ .Values.tls.secretName | default "drover-tls" }}
{{- end -}}
{{- end }}

{{- define "drover.caKey" -}}
{{- if eq .Values.tls.mode "certManager" -}}{{ .Values.tls.caKey | default "ca.crt" }}
{{- else -}}{{ .Values.tls.caKey }}
{{- end -}}
{{- end }}

{{/* The DNS name that the server's certificate must contain for hubWebhook. Empty if hubWebhook is empty. */}}
{{- define "drover.webhookName" -}}
{{- if contains "://" .Values.hubWebhook -}}
{{- get (urlParse .Values.hubWebhook) "hostname" -}}
{{- else -}}
{{- regexReplaceAll "^([^/]+)/([^:]+)(:.*)?$" .Values.hubWebhook "${2}.${1}.svc" -}}
{{- end -}}
{{- end }}

{{- define "drover.webhook" -}}
{{- if .Values.hubWebhook -}}{{ .Values.hubWebhook }}
{{- else if ne .Values.tls.mode "secret" -}}{{ include "drover.namespace" . }}/drover:{{ .Values.service.port }}
{{- end -}}
{{- end }}
