const REQUESTED = /^([A-Za-z0-9_-]{1,64})(?::([1-9]\d{0,2}))?$/

/** The class of the devices that an operator calls so: what Placement allows in the name of a custom class. */
export function pciResourceClass(alias: string): string {
  return `CUSTOM_PCI_${alias.toUpperCase().replaceAll('-', '_')}`
}

/** How many devices of each class `gpu:2,nic` asks for (nova: `pci_passthrough:alias`); undefined: it cannot be read. */
export function requestedDevices(text: string): Readonly<Record<string, number>> | undefined {
  const amounts: Record<string, number> = {}
  for (const part of text.split(',')) {
    const [, alias, count = '1'] = REQUESTED.exec(part.trim()) ?? []
    if (alias === undefined) return undefined
    const resourceClass = pciResourceClass(alias)
    amounts[resourceClass] = (amounts[resourceClass] ?? 0) + Number(count)
  }
  return amounts
}
