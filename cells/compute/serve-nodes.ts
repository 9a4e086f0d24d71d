import type { NatsConnection } from '@nats-io/transport-node'
import type { Static } from 'typebox'
import { type Service, serve } from '#common/bus/serve.ts'
import type { WorkContext } from '#common/context.ts'
import type { NodeReport } from '#drivers/nodes.ts'
import { checked } from '#openapi/wire/checked.ts'
import { NODE_OPERATIONS, type NodeOperation, type NodeView } from '#openapi/wire/node.ts'
import { directSubject } from '#openapi/wire.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'

type Ask<O extends NodeOperation> = Static<(typeof NODE_OPERATIONS)[O]['ask']>
type Answer<O extends NodeOperation> = Static<(typeof NODE_OPERATIONS)[O]['answer']>
type Handlers = {
  readonly [O in NodeOperation]: (ask: Ask<O>, signal: AbortSignal) => Promise<Answer<O>>
}

/** Less than gateways wait: a BMC that is silent is told of, instead of the host. */
const TIMEOUT_MS = 12_000

/** Answers gateways on the machines of this host until disposed. */
export function serveNodes(
  { host, driver, log }: Compute,
  nats: NatsConnection,
): readonly AsyncDisposable[] {
  const nodes = () => driverPart(driver, 'nodes')
  const handlers: Handlers = {
    'node-list': async (_ask, signal) => ({ nodes: (await nodes().list(signal)).map(nodeView) }),
    'node-add': async (ask, signal) => nodeView(await nodes().add(ask, signal)),
    'node-inspect': async ({ name }, signal) => nodeView(await nodes().inspect(name, signal)),
    'node-maintain': async ({ name, reason }, signal) =>
      nodeView(await nodes().maintain(name, reason, signal)),
    'node-remove': async ({ name }, signal) => {
      await nodes().remove(name, signal)
      return {}
    },
    'node-sensors': async ({ name }, signal) => {
      const sensors = await nodes().sensors(name, signal)
      return { sensors: [...sensors] }
    },
  }
  return (Object.keys(handlers) as NodeOperation[]).map((operation) => {
    const handle = handlers[operation] as (ask: never, signal: AbortSignal) => Promise<unknown>
    const service: Service = {
      subject: directSubject(host.cellId, host.id, operation),
      parse: (payload) => checked(NODE_OPERATIONS[operation].ask, payload, operation),
      handle: (ask: never, _work: WorkContext) => handle(ask, AbortSignal.timeout(TIMEOUT_MS)),
    }
    return serve(nats, service, log)
  })
}

function nodeView({ instance, traits, parts, ...node }: NodeReport): NodeView {
  return {
    ...node,
    serverId: instance,
    traits: [...traits],
    parts: parts && {
      ...parts,
      disks: [...parts.disks],
      macAddresses: [...parts.macAddresses],
    },
  }
}
