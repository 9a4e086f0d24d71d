import type { components } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'
import { findNode } from './find-node.ts'
import type { NodeOptions } from './machine-hosts.ts'

type Sensor = components['schemas']['NodeSensor']

/** What a machine measures of itself now. */
export async function listSensors(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { path } = await findNode(operator, session, name, options)
    const at = '/v1/hosts/{host}/nodes/{node}/sensors'
    const { sensors } = await session.federation.ask('get', at, { path })
    return listView(sensors, SENSORS)
  })
}

const SENSORS: Listing<Sensor> = {
  plural: 'sensors',
  nameOf: ({ name }) => name,
  columns: [
    { head: 'SENSOR', of: ({ name }) => name },
    { head: 'VALUE', of: ({ value }) => value },
    { head: 'UNIT', of: ({ unit }) => unit },
  ],
}
