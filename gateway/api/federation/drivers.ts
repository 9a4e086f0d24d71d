import type { operations } from '#openapi/federation.gen.ts'
import { knownDrivers } from '../../app/federation/drivers.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v1/drivers */
export const listDrivers: Handler<operations['listDrivers']> = async ({ app }) => {
  const drivers = await knownDrivers(app.db)
  return {
    body: {
      drivers: drivers.map(({ name, isSimulated, hosts, capabilities }) => {
        return { name, is_simulated: isSimulated, hosts, capabilities: [...capabilities] }
      }),
    },
  }
}
