import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import type { InstanceId } from '#common/ids.ts'
import { Nullable, Texts } from '#openapi/wire/scalars.ts'
import type { InstanceLabels, Labels } from '../labels.ts'
import { findServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'
import { markerKey, markerValue } from './names.ts'

const Text = Type.Optional(Nullable(Type.String()))
const Labelled = Type.Object({
  server: Type.Object({
    name: Type.String(),
    metadata: Texts,
    description: Text,
    tags: Type.Optional(Type.Array(Type.String())),
    accessIPv4: Text,
    accessIPv6: Text,
    'OS-DCF:diskConfig': Text,
    'OS-EXT-SRV-ATTR:hostname': Text,
  }),
})
type Labelled = Static<typeof Labelled>['server']

/** Since when what can be shown and changed; of a cloud that is older the rest is. */
const SINCE = { description: '2.19', tags: '2.26', hostname: '2.90' } as const

/** The server below is called, described and tagged as the instance is here; the mark that makes it ours stays. */
export function nestedLabels(host: NestedHost): Labels {
  return {
    apply: async (id, labels, signal) => {
      const apply = async () => {
        const server = await findServer(host, id, signal)
        if (server === undefined) return false
        await applyTo(host, id, server.id, labels, signal)
        return true
      }
      return (await host.locks.runIfFree(id, signal, apply)) ?? false
    },
  }
}

async function applyTo(
  host: NestedHost,
  id: InstanceId,
  serverId: string,
  labels: InstanceLabels,
  signal: AbortSignal,
): Promise<void> {
  const { cloud, owner, records } = host
  const isAdopted = records.get(id)?.isAdopted === true
  const path = `/servers/${serverId}`
  const microversion = await newestOf(host, signal)
  const asked = { microversion, signal }
  const { server } = (await cloud.ask(Labelled, 'compute', 'GET', path, asked)).body
  const change = changeOf(server, labels)
  if (Object.keys(change).length > 0)
    await cloud.call('compute', 'PUT', path, { ...asked, body: { server: change } })
  const kept = isAdopted ? server.metadata : {}
  const metadata = { ...kept, ...labels.metadata, [markerKey(owner)]: markerValue(owner, id) }
  if (!isDeepStrictEqual(metadata, server.metadata))
    await cloud.call('compute', 'PUT', `${path}/metadata`, { ...asked, body: { metadata } })
  if (server.tags === undefined) return
  const tags = isAdopted ? [...new Set([...server.tags, ...labels.tags])] : labels.tags
  if (!isDeepStrictEqual(tags.toSorted(), server.tags.toSorted()))
    await cloud.call('compute', 'PUT', `${path}/tags`, { ...asked, body: { tags } })
}

/** The first microversion that carries most labels. */
async function newestOf({ versions }: NestedHost, signal: AbortSignal) {
  for (const version of [SINCE.hostname, SINCE.tags, SINCE.description]) {
    const served = await versions.ifServed(version, signal)
    if (served !== undefined) return served
  }
  return undefined
}

/** The labels that the cloud shows differently. An address cannot be removed there, so a missing one is no change. */
function changeOf(server: Labelled, labels: InstanceLabels): object {
  const { name, hostname, description, diskConfig, accessIPv4, accessIPv6 } = labels
  const wanted = {
    name,
    ...(server.description === undefined ? {} : { description }),
    ...(server['OS-EXT-SRV-ATTR:hostname'] == null ? {} : { hostname }),
    ...(server['OS-DCF:diskConfig'] == null ? {} : { 'OS-DCF:diskConfig': diskConfig }),
    ...(accessIPv4 === null ? {} : { accessIPv4 }),
    ...(accessIPv6 === null ? {} : { accessIPv6 }),
  }
  const shown: Readonly<Record<string, unknown>> = {
    ...server,
    hostname: server['OS-EXT-SRV-ATTR:hostname'],
  }
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => shown[key] !== value))
}
