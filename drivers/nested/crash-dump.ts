import type { CrashDump } from '../guest-diagnostics.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { restingServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

export function nestedCrashDump(host: NestedHost): CrashDump {
  return {
    trigger: (id, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        const microversion = await host.versions.need('2.17', 'a crash dump', signal)
        const body = { trigger_crash_dump: null }
        await actOnServer(host, server, { body, until: [server.status], microversion }, signal)
      }),
  }
}
