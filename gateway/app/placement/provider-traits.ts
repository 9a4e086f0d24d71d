import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { insertCustomTrait, lockCustomTraits } from '../../db/custom-traits.ts'
import type { HostRecord } from '../../db/host-list.ts'
import type { HostChangeDeps } from '../hosts/change-in-cell.ts'
import { changeProvider } from './change-provider.ts'
import { ownTraits, type Provider } from './provider.ts'
import { CUSTOM_TRAIT, traitsOfHosts } from './traits.ts'

/**
 * Afterwards the host has these traits besides those that its driver finds, which it keeps. Throws as `changeProvider`,
 * and `invalid` for a trait that does not exist, for a standard one, and where it would have no effect.
 */
export function setProviderTraits(
  deps: HostChangeDeps,
  id: string,
  generation: number | undefined,
  traits: readonly string[],
): Promise<Provider> {
  return changeProvider(deps, id, generation, async (tx, host, before) => {
    const own = new Set(ownTraits(host))
    const given = [...new Set(traits)].filter((name) => !own.has(name)).toSorted()
    if (given.length > 0) refuseWithoutEffect(host)
    await refuseUnknown(tx, given)
    return { ...before, traits: given }
  })
}

/** Nothing there would be scheduled by them. */
function refuseWithoutEffect({ view }: HostRecord): void {
  const { machines, hasOwnFlavors } = view.inventory ?? {}
  if (machines !== undefined)
    throw new Failure(
      'invalid',
      `Host ${view.name} consists of machines, each with traits of its own. Give traits to a machine when it is enrolled (./weir node add --trait), or in Ironic (openstack baremetal node add trait).`,
    )
  if (hasOwnFlavors === true)
    throw new Failure(
      'invalid',
      `Host ${view.name} is another cloud, whose own flavors and hosts have the traits. Give them there.`,
    )
}

/** Of those that there are, none is deleted until the transaction ends. */
async function refuseUnknown(tx: Tx, names: readonly string[]): Promise<void> {
  const standard = names.find((name) => !CUSTOM_TRAIT.test(name))
  if (standard !== undefined)
    throw new Failure(
      'invalid',
      `Trait ${standard} cannot be given: drivers find standard traits themselves. Name traits that begin with CUSTOM_.`,
    )
  const known = await lockCustomTraits(tx, names)
  const others = names.filter((name) => !known.has(name))
  if (others.length === 0) return
  const found = await traitsOfHosts(tx)
  const unknown = others.filter((name) => !found.has(name))
  if (unknown.length > 0)
    throw new Failure(
      'invalid',
      `No such trait ${unknown.join(', ')}. Create it first: PUT /placement/traits/${unknown[0]}`,
    )
  for (const name of others) await insertCustomTrait(tx, name)
}
