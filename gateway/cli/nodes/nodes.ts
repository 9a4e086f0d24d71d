import { Failure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView, type Listing, listView } from '../output/view.ts'
import { findNode } from './find-node.ts'
import { hostNames, machineHosts, type NodeOptions } from './machine-hosts.ts'
import { nodeListing } from './node-listing.ts'
import { nodesOf } from './nodes-of.ts'

export async function listNodes(operator: Operator, options: NodeOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const hosts = await machineHosts(session, options)
    return listView(await nodesOf(operator, session, hosts), nodeListing(hostNames(hosts)))
  })
}

export async function showNode(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { path, host } = await findNode(operator, session, name, options)
    const node = await session.federation.ask('get', '/v1/hosts/{host}/nodes/{node}', { path })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}

/** Afterwards it is being found out again what the machine is made of. */
export async function inspectNode(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { path, host } = await findNode(operator, session, name, options)
    const at = '/v1/hosts/{host}/nodes/{node}/inspect'
    const node = await session.federation.ask('post', at, { path })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}

type Sensor = components['schemas']['NodeSensor']

/** Shows the present sensor readings of a machine. */
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

export interface MaintenanceOptions extends NodeOptions {
  readonly reason?: string
  readonly off?: true
}

/** Afterwards no further server gets the machine, or servers may get it again. */
export async function maintainNode(
  operator: Operator,
  name: string,
  options: MaintenanceOptions,
): Promise<void> {
  const { reason, off } = options
  if ((reason === undefined) === (off === undefined))
    throw new Failure('invalid', "Say why: --reason 'a fan'. Or that it is over: --off.")
  await present(operator, options, async (session) => {
    const { path, host } = await findNode(operator, session, name, options)
    const body = { maintenance: reason ?? null }
    const at = '/v1/hosts/{host}/nodes/{node}'
    const node = await session.federation.ask('patch', at, { path, body })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}

/** Afterwards the host does not have the machine. Throws `conflict` while a server has it. */
export async function removeNode(
  operator: Operator,
  name: string,
  options: NodeOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const { path, host } = await findNode(operator, session, name, options)
  await session.federation.ask('delete', '/v1/hosts/{host}/nodes/{node}', { path })
  operator.err.write(`Host ${host.name} does not have node ${name} any more.\n`)
}
