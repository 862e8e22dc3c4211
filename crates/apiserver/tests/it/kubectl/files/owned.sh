# Prints a ReplicaSet of the Deployment `web`, as its controller would make it: revision, image.
uid=$(kubectl get deployment web -o jsonpath='{.metadata.uid}')
cat <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-$1
  labels: {app: web}
  annotations: {deployment.kubernetes.io/revision: "$1"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: $uid, controller: true, blockOwnerDeletion: true}]
spec:
  replicas: 0
  selector: {matchLabels: {app: web, pod-template-hash: h$1}}
  template:
    metadata: {labels: {app: web, pod-template-hash: h$1}}
    spec: {containers: [{name: c, image: "$2"}]}
END
