/** A clock may be set at any time: what it shows now and what it showed then differ by anything. */
export const WALL_CLOCK = /\bDate\.now\(\)/
export const WALL_DIFFERENCE = /(?<!=)[-+<>]=? *[\w.#]*[cC]lock\.now\(\)|[cC]lock\.now\(\) *[-+<>]/

/** Here ages of times that others wrote down are shown to people. */
export const DISPLAYED_AGES = /^gateway\/(cli|views|api\/placement)\//

/** Files that need the time of day, and the reason. All other code uses `Clock.elapsed` or `performance.now`. */
export const WALL_CLOCK_FILES: Readonly<Record<string, string>> = {
  'common/clock.ts': 'it is the clock',
  'common/ids.ts': 'ids begin with the time of day',
  'common/bus/credential.ts': 'the bus compares the end of a credential with the time of day',
  'common/bus/keep-credential.ts': 'the same',
  'gateway/app/identity/signature-tokens.ts': 'signatures bear the time of day of who signed',
  'common/trace/span-exporter.ts': 'collectors want the time of day of every span',
  'cells/compute/guests/attempts.ts': 'kept on disk for days',
  'cells/compute/fence.ts': 'kept on disk: the time that passed while the compute was off',
  'cells/feed/trim-feed.ts': 'rows are kept for hours',
  'cells/hosts/host-registry.ts': 'another process wrote it down',
  'cells/images/image-caches.ts': 'a pass ends at a time of day, at every process of the cell',
  'cells/reconcilers/allocation-audit.ts': 'rows are compared by the time they were written',
  'cells/reconcilers/purge.ts': 'rows are kept for days',
  'deploy/config/check-files.ts': 'a certificate ends at a time of day',
  'drivers/docker/diagnostics.ts': 'the engine says since when',
  'drivers/docker/watch.ts': 'the engine is asked since when',
  'drivers/libvirt/diagnostics.ts': 'the file system says since when',
  'drivers/nested/cloud/retry-after.ts': 'the other cloud names a time of day',
  'drivers/nested/compute/create-server.ts': 'kept on disk: what was sent before a restart',
  'drivers/nested/compute/find-server.ts': 'kept on disk: what was sent before a restart',
  'drivers/nested/destroy.ts': 'kept on disk: what was sent before a restart',
  'drivers/nested/volumes/pending-creates.ts': 'kept on disk: what was sent before a restart',
  'drivers/volume-copies.ts': 'kept on disk for days',
  'drivers/nested/verify/compute-findings.ts': 'it compares the clocks of two clouds',
  'gateway/app/federation/own-health.ts':
    'it compares clocks, and certificates end at a time of day',
  'gateway/app/identity/application-credentials.ts': 'a user names a time of day',
  'gateway/app/identity/token-cache.ts': 'a token ends at a time of day, at every gateway',
  'gateway/app/images/image-for-boot.ts': 'a ticket ends at a time of day, at every gateway',
  'gateway/app/images/import/run-import.ts': 'a lease in the database, which other gateways read',
  'gateway/app/purge.ts': 'rows are kept for days',
  'gateway/app/reconcilers/settle-losses.ts':
    'kept in the database: the time of the last heartbeat',
  'gateway/app/servers/boot/embedded-images.ts': 'a ticket ends at a time of day, at every gateway',
  'gateway/http/bus-sockets.ts': 'a credential ends at a time of day',
  'gateway/keystone/keystone-verifier.ts': 'Keystone says until when a token is good',
  'deploy/upgrade/deployment-part.ts':
    'cells and hosts report when they were started by the time of day',
  'deploy/upgrade/running-code.ts': 'files have the time of day at which they were put in place',
}
