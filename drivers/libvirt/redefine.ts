import { stat } from 'node:fs/promises'
import type { InstanceSpec } from '../driver.ts'
import { domainXml } from './domains/domain-xml.ts'
import { getOwnDomain } from './domains/own-domains.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { readInstanceRecord } from './instance-record.ts'
import { powerOn } from './power.ts'

/**
 * Afterwards the domain, which is off, is what the spec says, and runs if it shall. Its interfaces are those the host
 * has plugged; it has a config drive if there is one. The caller holds the instance's lock.
 */
export async function redefine(
  host: LibvirtHost,
  spec: InstanceSpec,
  runs: boolean,
  signal: AbortSignal,
): Promise<void> {
  const files = filesOf(host, spec.id)
  const { nics = [] } = (await readInstanceRecord(files)) ?? {}
  const { configDrive: _given, ...rest } = spec
  const hasDrive = await isThere(files.configDrive)
  const shown = { ...rest, nics, ...(hasDrive ? { configDrive: {} } : {}) }
  const virtType = await host.virtType(signal)
  const xml = domainXml({ spec: shown, owner: host.owner, files, virtType })
  await host.domains.define(xml, signal)
  if (runs)
    await powerOn(
      host,
      spec.id,
      await getOwnDomain(host.domains, host.owner, spec.id, signal),
      signal,
    )
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
