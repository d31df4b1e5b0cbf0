{{/* The beginning of all names: the release, with the chart unless the release is named after it. */}}
{{- define "keyturn.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $release := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- /* The longest suffix is that of the headless service, and 63 is the most that a name of one may have. */ -}}
{{- default $release .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{/* What tells the pods of a release from all others. It cannot be changed by an upgrade. */}}
{{- define "keyturn.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "keyturn.labels" -}}
{{ include "keyturn.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "keyturn.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Secret of a part of "secrets": its own, or the common one. Takes a dict of "root" and "part". */}}
{{- define "keyturn.secretName" -}}
{{- $secrets := .root.Values.secrets -}}
{{- $name := (index $secrets .part).existingSecret | default $secrets.existingSecret -}}
{{- required (printf "secrets.%s names no Secret. Make one with the keys database-url, master-keys and admin.json, as docs/install.md shows, and name it: --set secrets.existingSecret=NAME. For this part alone: --set secrets.%s.existingSecret=NAME." .part .part) $name -}}
{{- end -}}

{{- define "keyturn.baseUrl" -}}
{{- required "baseUrl is not set: it is the address that clients use, and the issuer of all tokens: --set baseUrl=https://tokens.example.com" .Values.baseUrl -}}
{{- end -}}

{{/* The host name of the base URL, without a port. */}}
{{- define "keyturn.host" -}}
{{- get (include "keyturn.baseUrl" . | urlParse) "hostname" -}}
{{- end -}}

{{/* How long a pod may take to end: the drain, 10 s for requests in flight, 6 s for the rest, and some to spare. */}}
{{- define "keyturn.terminationGracePeriodSeconds" -}}
{{- add 25 (dig "KEYTURN_DRAIN_SECONDS" 5 .Values.config | int) -}}
{{- end -}}

{{- define "keyturn.servicePort" -}}
name: http
port: {{ .Values.service.port }}
targetPort: http
appProtocol: {{ ternary "https" "kubernetes.io/h2c" (ne .Values.tls.existingSecret "") }}
{{- end -}}
