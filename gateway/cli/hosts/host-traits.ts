import { Failure, isFailure } from '#common/errors.ts'
import type { operations } from '#openapi/placement.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { type Listing, listView, type View } from '../output/view.ts'
import { findHost } from './find-host.ts'
import type { Host } from './host-listing.ts'
import type { HostOptions } from './hosts.ts'

type ProviderTraits = AnswerOf<operations['listProviderTraits']>

const TRAITS = '/resource_providers/{uuid}/traits'
/** Others change the same provider seldom, and its host reports every minute. */
const TRIES_MAX = 5
const LISTING: Listing<string> = {
  plural: 'traits',
  nameOf: (trait) => trait,
  columns: [{ head: 'TRAIT', of: (trait) => trait }],
}

/** Shows the traits of a host: those that its driver finds, and those that it was given. */
export async function listHostTraits(
  operator: Operator,
  name: string,
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const host = await findHost(session, name, options.cell)
    return viewOf(await session.placement().ask('get', TRAITS, { path: { uuid: host.id } }))
  })
}

/** Afterwards the host has these traits, too, which are created if there are none of these names. */
export async function addHostTraits(
  operator: Operator,
  name: string,
  traits: readonly string[],
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const host = await findHost(session, name, options.cell)
    for (const trait of traits)
      await session.placement().ask('put', '/traits/{name}', { path: { name: trait } })
    return viewOf(await changeTraits(session, host, (present) => [...present, ...traits]))
  })
}

/** Afterwards the host does not have these traits. Throws `not-found` for one that it has not, `conflict` for one that it keeps. */
export async function removeHostTraits(
  operator: Operator,
  name: string,
  traits: readonly string[],
  options: HostOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const host = await findHost(session, name, options.cell)
    const changed = await changeTraits(session, host, (present) => {
      const missing = traits.find((trait) => !present.includes(trait))
      if (missing !== undefined)
        throw new Failure(
          'not-found',
          `Host ${host.name} has no trait ${missing}. See: ./weir host trait list ${host.name}`,
        )
      return present.filter((trait) => !traits.includes(trait))
    })
    const kept = traits.find((trait) => changed.traits.includes(trait))
    if (kept !== undefined)
      throw new Failure(
        'conflict',
        `Host ${host.name} keeps the trait ${kept}: its driver finds it. Only traits that were given can be taken away.`,
      )
    return viewOf(changed)
  })
}

function viewOf({ traits }: ProviderTraits): View {
  return { ...listView(traits, LISTING), records: traits.map((trait) => ({ trait })) }
}

async function changeTraits(
  session: Session,
  { id: uuid }: Host,
  change: (present: readonly string[]) => readonly string[],
): Promise<ProviderTraits> {
  const placement = session.placement()
  for (let tries = 1; ; tries += 1) {
    const seen = await placement.ask('get', TRAITS, { path: { uuid } })
    const traits = [...new Set(change(seen.traits))]
    try {
      return await placement.ask('put', TRAITS, { path: { uuid }, body: { ...seen, traits } })
    } catch (error) {
      if (tries >= TRIES_MAX || !isFailure(error, 'conflict')) throw error
    }
  }
}
