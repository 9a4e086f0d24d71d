import type { Firewall, PortFilter } from '../../firewall.ts'
import { filesOf, type LibvirtHost } from '../host.ts'
import { readInstanceRecord, writeInstanceRecord } from '../instance-record.ts'

/** What passes is a matter of how NICs reach their networks: filters of libvirt on the host, or ACLs of OVN. */
export function libvirtFirewall(host: LibvirtHost): Firewall {
  return {
    apply: async (ports, signal) => {
      const applied: string[] = []
      for (const port of ports)
        if (await applyOne(host, port, signal)) applied.push(port.nic.portId)
      return applied
    },
  }
}

/**
 * Not true for a NIC that is being attached or detached, and for an instance that long work is done on: both are
 * pushed again.
 */
async function applyOne(
  host: LibvirtHost,
  { instance, nic, rules }: PortFilter,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  return host.locks.runIfFree(instance, signal, async () => {
    const files = filesOf(host, instance)
    const record = await readInstanceRecord(files)
    if (record?.nics.every(({ portId }) => portId !== nic.portId) ?? true) return false
    const nics = record!.nics.map((each) => (each.portId === nic.portId ? nic : each))
    await writeInstanceRecord(files, { ...record!, nics })
    await host.networks.filter(nic, rules, signal)
    await host.networks.plug(nic, signal)
    return true
  })
}
