import type { Password } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { restingServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

export function nestedPassword(host: NestedHost): Password {
  return {
    set: (id, password, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await restingServer(host, id, signal)
        const body = { changePassword: { adminPass: password } }
        await actOnServer(host, server, { body, until: [server.status] }, signal)
      }),
  }
}
