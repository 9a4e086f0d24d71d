import type { PortId } from '#common/ids.ts'

/** The name of a port's filter in libvirt. It contains the port's id, so it is unique. */
export function filterName(port: PortId): string {
  return `weir-port-${port}`
}
