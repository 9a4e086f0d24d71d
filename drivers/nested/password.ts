import type { Password } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

export function nestedPassword(host: NestedHost): Password {
  return {
    set: (id, password, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await getServer(host, id, signal)
        const body = { changePassword: { adminPass: password } }
        await actOnServer(host, server, { body, until: [server.status] }, signal)
      }),
  }
}
