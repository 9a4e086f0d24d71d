/** Amounts of a host. */
interface Amounts {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
}

/** A host with what it reports of itself, and what administrators decided about it. */
interface Offering<Inventory> {
  readonly inventory: Inventory
  readonly settings?: { readonly reserved?: Partial<Amounts> } | null
}

const NOTHING: Amounts = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** The amounts that a host keeps for itself: where administrators decided nothing, those that it reports. */
export function reservedOf({
  inventory,
  settings,
}: Offering<{ readonly reserved?: Amounts } | null>): Amounts {
  return { ...NOTHING, ...inventory?.reserved, ...settings?.reserved }
}

/** What the host offers: its inventory, in which it keeps so much for itself. */
export function offeredInventory<Inventory extends { readonly reserved?: Amounts }>(
  host: Offering<Inventory>,
): Inventory {
  return host.settings?.reserved === undefined
    ? host.inventory
    : { ...host.inventory, reserved: reservedOf(host) }
}
