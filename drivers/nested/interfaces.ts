import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Interfaces } from '../driver.ts'
import type { CloudServer } from './compute/cloud-server.ts'
import { idleServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import type { InstanceRecord } from './records.ts'

const Attached = Type.Object({ interfaceAttachment: Type.Object({ port_id: Type.String() }) })
const Attachments = Type.Object({
  interfaceAttachments: Type.Array(Type.Object({ port_id: Type.String() })),
})

/** An interface that is attached can have a tag since then. */
const TAG_SINCE = '2.49'

/** NICs are ports of the server below. */
export function nestedInterfaces(host: NestedHost): Interfaces {
  const { cloud, networks, records, settings, versions } = host
  const pathOf = ({ id }: CloudServer) => `/servers/${id}/os-interface`
  const has = async (server: CloudServer, port: string, signal: AbortSignal) => {
    const { body } = await cloud.ask(Attachments, 'compute', 'GET', pathOf(server), { signal })
    return body.interfaceAttachments.some(({ port_id }) => port_id === port)
  }
  const remember = async (id: InstanceId, change: (was: InstanceRecord) => InstanceRecord) => {
    const record = records.get(id)
    if (record !== undefined) await records.write(id, change(record))
  }
  return {
    attach: (id, nic, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        await remember(id, (was) => ({
          ...was,
          portIds: [...new Set([...was.portIds, nic.portId])],
          networkIds: [...new Set([...was.networkIds, nic.networkId])],
        }))
        const port = await networks.ensurePort(nic, signal)
        if (await has(server, port, signal)) return
        const { tag } = nic
        const microversion =
          tag === undefined ? undefined : await versions.need(TAG_SINCE, `the tag ${tag}`, signal)
        const body = { interfaceAttachment: { port_id: port, ...(tag !== undefined && { tag }) } }
        const request = { body, microversion, signal }
        await cloud.ask(Attached, 'compute', 'POST', pathOf(server), request)
      }),
    detach: (id, nic, signal) =>
      host.locks.run(id, signal, async () => {
        const server = await idleServer(host, id, signal)
        const port = await networks.findPort(nic.portId, signal)
        while (port !== undefined && (await has(server, port, signal))) {
          const path = `${pathOf(server)}/${port}`
          await cloud.call('compute', 'DELETE', path, { signal }).catch((error: unknown) => {
            if (!isFailure(error, 'not-found')) throw error
          })
          await sleep(settings.pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
        }
        await networks.removePort(nic.portId, signal)
        await remember(id, (was) => ({
          ...was,
          portIds: was.portIds.filter((portId) => portId !== nic.portId),
        }))
      }),
  }
}
