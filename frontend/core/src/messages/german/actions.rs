//! Messages of the actions on objects, the drain of a node, the editor, and the creation of
//! objects.

use crate::messages::{counted, translation};

translation! { German;
    actions: Actions {
        menu = "Aktionen";
        scale_menu = "Skalieren…";
        restart_menu = "Neu starten…";
        set_image_menu = "Image ändern…";
        roll_back_menu = "Zurücksetzen…";
        pause_menu = "Rollout anhalten…";
        resume_menu = "Rollout fortsetzen…";
        suspend_menu = "Aussetzen…";
        unsuspend_menu = "Fortsetzen…";
        trigger_menu = "Jetzt ausführen…";
        evict_menu = "Verdrängen (evict)…";
        debug_menu = "Debuggen…";
        cordon_menu = "Sperren (cordon)…";
        uncordon_menu = "Freigeben (uncordon)…";
        drain_menu = "Leeren (drain)…";
        taints_menu = "Taints bearbeiten…";
        labels_menu = "Labels bearbeiten…";
        right(verb: &str, resource: &str) = format!("{verb} {resource}");
        right_in(verb: &str, resource: &str, namespace: &str) = format!("{verb} {resource} im Namespace {namespace}");
        missing_right(right: &str) = format!("Erforderliche Berechtigung: {right}. Ein Eigentümer des Projekts oder des Clusters kann eine Rolle mit dieser Berechtigung zuweisen");
        missing_cluster_right(right: &str) = format!("Erforderliche Berechtigung: {right}. Ein Eigentümer des Clusters kann eine Rolle mit dieser Berechtigung zuweisen");
        title(verb: &str, kind: &str, name: &str) = format!("{kind} {name}: {verb}");
        scale = "Skalieren";
        replicas = "Replicas";
        replicas_help(current: &str) = format!("Aktuell {current}. 0 stoppt alle Pods.");
        invalid_replicas = "Eine ganze Zahl ab 0 eingeben.";
        autoscaled(name: &str) = format!("Der HorizontalPodAutoscaler {name} ändert die Anzahl der Replicas wieder.");
        scaled(name: &str, replicas: u32) = format!("{name} wurde auf {replicas} skaliert.");
        restart = "Neu starten";
        restart_effect = "Kubernetes ersetzt die Pods schrittweise, entsprechend der Update-Strategie.";
        restarted(name: &str) = format!("{name} wird neu gestartet.");
        set_image = "Image ändern";
        container = "Container";
        image = "Image";
        image_help(current: &str) = format!("Aktuell {current}");
        set_image_done(container: &str, image: &str) = format!("Der Container {container} verwendet das Image {image}.");
        roll_back = "Zurücksetzen";
        revision = "Revision";
        revision_words(number: i64, images: &str, cause: Option<&str>) = match cause {
            Some(cause) => format!("{number}: {cause} ({images})"),
            None => format!("{number}: {images}"),
        };
        no_revisions = "Der Workload hat keine frühere Revision.";
        changes = "Änderungen";
        no_changes = "Die Revision hat dasselbe Pod-Template wie der Workload.";
        rolled_back(name: &str, number: i64) = format!("{name} wurde auf Revision {number} zurückgesetzt.");
        restored(name: &str) = format!("{name} wurde wiederhergestellt.");
        pause = "Rollout anhalten";
        pause_effect = "Änderungen des Pod-Templates haben keine Wirkung, bis der Rollout fortgesetzt wird. Laufende Pods laufen weiter.";
        paused(name: &str) = format!("Der Rollout von {name} wurde angehalten.");
        resume = "Rollout fortsetzen";
        resume_effect = "Kubernetes wendet alle Änderungen des Pod-Templates seit dem Anhalten an.";
        resumed(name: &str) = format!("Der Rollout von {name} wurde fortgesetzt.");
        suspend = "Aussetzen";
        suspend_effect = "Ein ausgesetzter CronJob erstellt keine Jobs. Ein ausgesetzter Job löscht seine laufenden Pods und erstellt keine Pods.";
        suspended(name: &str) = format!("{name} wurde ausgesetzt.");
        unsuspend = "Fortsetzen";
        unsuspend_effect = "Das Objekt erstellt wieder Jobs oder Pods.";
        unsuspended(name: &str) = format!("{name} wurde fortgesetzt.");
        trigger = "Jetzt ausführen";
        trigger_effect = "Erstellt einen Job aus dem Template des CronJobs. Der Zeitplan ändert sich nicht.";
        job_name = "Name des Jobs";
        triggered(job: &str) = format!("Der Job {job} wurde erstellt.");
        evict = "Verdrängen";
        evict_effect = "Kubernetes löscht den Pod, wenn seine PodDisruptionBudgets die Unterbrechung erlauben. Der Controller des Pods erstellt einen neuen Pod.";
        evict_blocked(budgets: &str) = format!("Diese PodDisruptionBudgets erlauben derzeit keine Unterbrechung: {budgets}");
        evicted(name: &str) = format!("{name} wurde verdrängt.");
        debug = "Container hinzufügen";
        debug_effect = "Fügt dem Pod einen Ephemeral Container hinzu. Kubernetes kann den Container nicht entfernen, bevor der Pod gelöscht wird.";
        debug_name = "Name des neuen Containers";
        debug_target = "Container, dessen Prozesse sichtbar sind";
        debug_no_target = "Keiner";
        debug_added(container: &str) = format!("Der Container {container} wurde hinzugefügt.");
        cordon = "Sperren";
        cordon_effect = "Kubernetes plant keine neuen Pods auf dem Node. Laufende Pods bleiben.";
        cordoned(name: &str) = format!("{name} wurde gesperrt.");
        uncordon = "Freigeben";
        uncordon_effect = "Kubernetes plant wieder Pods auf dem Node.";
        uncordoned(name: &str) = format!("{name} wurde freigegeben.");
        save_taints = "Taints speichern";
        taints = "Taints";
        taints_help = "Ein Taint pro Zeile: Schlüssel=Wert:Effekt. Die Effekte sind NoSchedule, PreferNoSchedule und NoExecute.";
        taints_effect = "NoExecute verdrängt Pods, die den Taint nicht tolerieren, unabhängig von PodDisruptionBudgets.";
        invalid_taint(line: &str) = format!("Kein Taint: {line}. Beispiel: dedicated=database:NoSchedule");
        duplicate_line(line: &str) = format!("Doppelt; diese Zeile entfernen: {line}");
        taints_saved(name: &str) = format!("Die Taints von {name} wurden geändert.");
        save_labels = "Labels speichern";
        labels_help = "Ein Label pro Zeile: Schlüssel=Wert. Selectors von Services und Controllern verwenden Labels.";
        invalid_label(line: &str) = format!("Kein Label: {line}. Beispiel: tier=web");
        labels_saved(name: &str) = format!("Die Labels von {name} wurden geändert.");
        delete_effect = "Das Löschen kann nicht rückgängig gemacht werden.";
        delete_dangerous(kind: &str) = match kind {
            "Namespace" => "Kubernetes löscht alle Objekte im Namespace.".to_owned(),
            "CustomResourceDefinition" => "Kubernetes löscht alle Objekte dieser Art, in allen Namespaces.".to_owned(),
            "PersistentVolumeClaim" | "PersistentVolume" => "Die Daten des Volumes können verloren gehen.".to_owned(),
            "Node" => "Kubernetes löscht die Pods des Nodes. Das Kubelet einer laufenden Maschine kann den Node wieder registrieren.".to_owned(),
            "StatefulSet" => "Die Claims der Pods bleiben, außer wenn die Retention-Policy die Claims löscht.".to_owned(),
            _ => "Andere Objekte können von diesem Objekt abhängen.".to_owned(),
        };
        cascade = "Abhängige Objekte";
        cascade_background = "Im Hintergrund löschen";
        cascade_foreground = "Vor dem Objekt löschen";
        cascade_orphan = "Behalten";
        deleting(kind: &str, name: &str) = format!("{kind} {name} wird gelöscht.");
        rejected_by_policy = "Eine Quota oder eine Admission-Policy des Clusters lehnt die Änderung ab. Die Werte ändern oder einen Eigentümer des Clusters fragen.";
        recreated = "Das Objekt wurde gelöscht und neu erstellt. Den Dialog schließen und das Objekt erneut öffnen.";
        conflict = "Das Objekt wurde gleichzeitig geändert. Den aktuellen Zustand prüfen und erneut versuchen.";
        gone = "Das Objekt wurde gelöscht. Den Dialog schließen und die Liste öffnen.";
        invalid = "Die Werte ändern und erneut versuchen.";
        unknown_outcome = "Der Cluster hat die Änderung möglicherweise angewendet. Das Objekt vor einem neuen Versuch prüfen.";
        later = "Später erneut versuchen.";
        undo = "Rückgängig machen";
        undone(name: &str) = format!("Der vorherige Zustand von {name} wurde wiederhergestellt.");
        cannot_undo(reason: &str) = format!("Die Änderung kann nicht rückgängig gemacht werden: {reason}");
    }

    drain: Drain {
        title(node: &str) = format!("Node {node} leeren (drain)");
        effect = "Sperrt den Node und verdrängt seine Pods. Das Leeren läuft auf dieser Seite: Die Seite geöffnet lassen.";
        evicted = "Verdrängt: Der Controller erstellt einen neuen Pod auf einem anderen Node";
        finished = "Abgeschlossen: wird gelöscht";
        empty_dir = "Mit einem emptyDir-Volume: wird verdrängt, und die Daten werden gelöscht";
        unmanaged = "Ohne Controller: wird verdrängt, und kein Controller erstellt den Pod neu";
        daemon_set = "Von einem DaemonSet: bleibt auf dem Node";
        mirror = "Mirror-Pod: bleibt auf dem Node";
        budgets(names: &str) = format!("Diese PodDisruptionBudgets erlauben derzeit keine Unterbrechung: {names}. Neue Versuche erfolgen, bis die Budgets die Eviction erlauben.");
        budgets_of_pod(names: &str) = format!(" (PodDisruptionBudget {names})");
        budgets_unknown(reason: &str) = format!("Die PodDisruptionBudgets können nicht gelesen werden: {reason}");
        delete_empty_dir = "Daten der emptyDir-Volumes löschen";
        force = "Pods ohne Controller verdrängen";
        nothing = "Keine Pods zu verdrängen.";
        start = "Leeren";
        pause = "Anhalten";
        resume = "Fortsetzen";
        stop = "Leeren abbrechen";
        progress_label = "Entfernte Pods";
        progress(done: usize, count: usize) = format!("{done} von {pods}", pods = counted(count, "Pod", "Pods"));
        waiting = "wartet";
        blocked(reason: &str) = format!("blockiert, neue Versuche erfolgen: {reason}");
        terminating = "wird beendet";
        gone = "entfernt";
        failed(reason: &str) = format!("fehlgeschlagen: {reason}");
        timeout = "Der Pod hat den Node nicht rechtzeitig verlassen. Seine Finalizer und seine PodDisruptionBudgets prüfen und den Node erneut leeren.";
        cancelled = "Das Leeren wurde abgebrochen. Der Node bleibt gesperrt.";
        complete(node: &str) = format!("{node} wurde geleert. Der Node bleibt gesperrt.");
        incomplete = "Einige Pods sind noch auf dem Node. Die Fehler prüfen und den Node erneut leeren.";
    }

    editor: Editor {
        edit = "Bearbeiten";
        label(name: &str) = format!("Manifest von {name}");
        cannot_load = "Der Editor kann nicht geladen werden. Die Seite neu laden.";
        review = "Änderungen prüfen";
        review_title = "Änderungen nach der Validierung durch den Cluster";
        no_changes = "Der Cluster würde das Objekt nicht ändern.";
        back = "Zurück zum Editor";
        save = "Speichern";
        cancel = "Abbrechen";
        saved(name: &str) = format!("{name} wurde gespeichert.");
        merged = "Das Objekt wurde im Cluster geändert. Der Editor enthält die Änderungen des Clusters und die eigenen Änderungen. Die Änderungen erneut prüfen.";
        conflicts(count: usize) = format!("Das Objekt wurde im Cluster geändert, und {} mit den eigenen Änderungen in Konflikt. Die Zeilen zwischen den Markierungen <<<<<<< und >>>>>>> auswählen und die Markierungen entfernen.", match count {
            1 => "1 Änderung steht".to_owned(),
            count => format!("{count} Änderungen stehen"),
        });
        unresolved = "Der Text enthält Konfliktmarkierungen. Die Zeilen zwischen <<<<<<< und >>>>>>> auswählen und die Markierungen entfernen.";
        keyboard = "Tab verlässt den Editor. Strg+Leertaste vervollständigt Felder. Strg+F öffnet die Suche.";
    }

    create: Create {
        menu = "Aus YAML erstellen…";
        title(cluster: &str) = format!("Objekte in {cluster} erstellen");
        label = "Manifeste";
        help = "Objekte durch Zeilen mit --- trennen. Objekte ohne Namespace werden im Namespace default erstellt.";
        create = "Erstellen";
        done(count: usize) = format!("{} erstellt.", counted(count, "Objekt", "Objekte"));
        invalid(number: usize, reason: &str) = format!("Dokument {number}: {reason}");
        missing_field(number: usize, field: &str) = format!("Dokument {number}: Das Feld {field} fehlt.");
        no_objects = "Das Manifest eines Objekts eingeben.";
        not_served(kind: &str, version: &str) = format!("Der Cluster stellt die Art {kind} in {version} nicht bereit.");
        rejected = "Der Cluster lehnt einige Objekte ab. Kein Objekt wurde erstellt.";
        partial = "Der Cluster hat nur einige Objekte erstellt. Die erstellten Objekte aus dem Text entfernen und erneut versuchen.";
        valid = "gültig";
        created = "erstellt";
        results = "Ergebnisse";
    }
}
