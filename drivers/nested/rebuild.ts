import type { InstanceSpec, Rebuild, RebuildOptions } from '../driver.ts'
import { actOnServer } from './compute/act-on-server.ts'
import { restingServer } from './compute/find-server.ts'
import { hasDescription, remarksBody } from './compute/remarks-body.ts'
import type { NestedHost } from './host.ts'
import { markerKey, markerValue } from './names.ts'
import { powerOff, powerOn } from './power.ts'

/** User data can be changed since then, and the key before. */
const USER_DATA_SINCE = '2.57'
const HOSTNAME_SINCE = '2.90'

export function nestedRebuild(host: NestedHost): Rebuild {
  return {
    rebuild: (spec, how, signal) =>
      host.locks.runPreemptible(spec.id, signal, (lockSignal) =>
        rebuild(host, spec, how, lockSignal),
      ),
  }
}

async function rebuild(
  host: NestedHost,
  spec: InstanceSpec,
  { keepsEphemeral, runs }: RebuildOptions,
  signal: AbortSignal,
): Promise<void> {
  const { keypairs, owner, records, versions } = host
  const { metadata, keypair, userData, adminPassword } = spec.asked
  const server = await restingServer(host, spec.id, signal)
  const record = records.get(spec.id)
  const keyName = keypair === null ? null : keypairs.nameOf(keypair)
  if (keypair !== null) {
    if (record !== undefined) await records.write(spec.id, { ...record, keypair: keyName })
    await keypairs.ensure(keypair, signal)
  }
  const named = await versions.ifServed(HOSTNAME_SINCE, signal)
  const microversion = named ?? (await versions.need(USER_DATA_SINCE, 'a rebuild', signal))
  const body = {
    rebuild: {
      imageRef: await host.images.ensure(spec.image, signal),
      name: spec.displayName,
      ...(named === undefined ? {} : { hostname: spec.hostname }),
      metadata: { ...metadata, [markerKey(owner)]: markerValue(owner, spec.id) },
      key_name: keyName,
      user_data: userData,
      ...remarksBody(spec),
      ...(hasDescription(spec) ? {} : { description: null }),
      ...(keepsEphemeral ? { preserve_ephemeral: true } : {}),
      ...(adminPassword === null ? {} : { adminPass: adminPassword }),
    },
  }
  await actOnServer(host, server, { body, until: ['ACTIVE', 'SHUTOFF'], microversion }, signal)
  const rebuilt = await restingServer(host, spec.id, signal)
  await (runs ? powerOn : powerOff)(host, rebuilt, signal)
}
