import type { PortId } from '#common/ids.ts'

/** What the filter of a port is called in libvirt: the port's id is in it, so no other port has the same. */
export function filterName(port: PortId): string {
  return `weir-port-${port}`
}
