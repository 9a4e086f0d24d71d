import type { NatsConnection } from '@nats-io/transport-node'
import type { NodeReport } from '#drivers/nodes.ts'
import { NODE_OPERATIONS, type NodeView } from '#openapi/wire/node.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'
import { serveDirectly } from './serve-directly.ts'

/** Answers gateways on the machines of this host until disposed. */
export function serveNodes(compute: Compute, nats: NatsConnection): readonly AsyncDisposable[] {
  const nodes = () => driverPart(compute.driver, 'nodes')
  return serveDirectly(compute, nats, NODE_OPERATIONS, {
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
  })
}

function nodeView({ instance, traits, parts, nics, ...node }: NodeReport): NodeView {
  return {
    ...node,
    nics: [...nics],
    serverId: instance,
    traits: [...traits],
    parts: parts && {
      ...parts,
      disks: [...parts.disks],
      macAddresses: [...parts.macAddresses],
    },
  }
}
