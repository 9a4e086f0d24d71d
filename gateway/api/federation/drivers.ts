import type { operations } from '#openapi/federation.gen.ts'
import { depthBelow } from '../../app/federation/depth.ts'
import { knownDrivers } from '../../app/federation/drivers.ts'
import type { Handler } from '../../http/operation.ts'
import { hopsOf } from '../../http/refuse-ring.ts'

/** GET /v1/drivers */
export const listDrivers: Handler<operations['listDrivers']> = async ({ app }) => {
  const drivers = await knownDrivers(app.db)
  return {
    body: {
      drivers: drivers.map(
        ({ isSimulated, capabilities, extraSpecs, imageProperties, ...rest }) => ({
          ...rest,
          is_simulated: isSimulated,
          capabilities: [...capabilities],
          extra_specs: extraSpecs && [...extraSpecs],
          image_properties: imageProperties && [...imageProperties],
        }),
      ),
    },
  }
}

/** GET /v1/depth */
export const showDepth: Handler<operations['showDepth']> = async ({ app, context, raw }) => {
  const { depth, isWhole } = await depthBelow(app.compute, context, hopsOf(raw.header))
  return { body: { depth, is_whole: isWhole } }
}
