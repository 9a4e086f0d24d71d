import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { deleteCustomTrait, insertCustomTrait, listCustomTraits } from '../../db/custom-traits.ts'
import { providerTrees } from './list-providers.ts'
import { DISABLED_TRAIT } from './provider.ts'

export interface TraitQuery {
  readonly name?: string
  readonly associated?: string
}

/** The names of traits that administrators may make. */
export const CUSTOM_TRAIT = /^CUSTOM_[A-Z0-9_]{1,248}$/

/** The traits of all hosts, those that administrators made, and the one that says that a host is disabled. */
export async function listTraits(db: Executor, query: TraitQuery): Promise<readonly string[]> {
  const isNamed = nameFilter(query.name)
  const associated = associatedOf(query.associated)
  const used = await traitsOfHosts(db)
  const made = await listCustomTraits(db)
  const traits = [...new Set([...used, ...made, DISABLED_TRAIT])].toSorted()
  return traits.filter(
    (name) => isNamed(name) && (associated === undefined || used.has(name) === associated),
  )
}

/** Those that a host or a part of one has. */
export async function traitsOfHosts(db: Executor): Promise<ReadonlySet<string>> {
  return new Set((await providerTrees(db)).flat().flatMap(({ traits }) => traits))
}

/** Throws `not-found` for a trait that there is not. */
export async function checkTrait(db: Executor, name: string): Promise<void> {
  if ((await listTraits(db, {})).includes(name)) return
  throw noTrait(name)
}

/** Afterwards there is the trait. False: there was already. Throws `invalid` for the name of a standard one. */
export async function createTrait(db: Executor, name: string): Promise<boolean> {
  if (!CUSTOM_TRAIT.test(name))
    throw new Failure(
      'invalid',
      `No custom trait can have the name ${name}: it begins with CUSTOM_, has at most 255 characters, and consists of A to Z, 0 to 9 and _.`,
    )
  const isFound = (await traitsOfHosts(db)).has(name)
  return (await insertCustomTrait(db, name)) && !isFound
}

/** Afterwards there is no such trait. Throws `not-found`, `invalid` for a standard one, `conflict` while a host has it. */
export async function deleteTrait(db: Transactional, name: string): Promise<void> {
  await db.transaction(async (tx) => {
    const isMade = await deleteCustomTrait(tx, name)
    const isUsed = (await traitsOfHosts(tx)).has(name)
    if (!isMade && !isUsed && name !== DISABLED_TRAIT) throw noTrait(name)
    if (!CUSTOM_TRAIT.test(name))
      throw new Failure('invalid', `Trait ${name} is a standard trait, which cannot be deleted.`)
    if (isUsed)
      throw new Failure(
        'conflict',
        `Trait ${name} is in use by a resource provider. List those that have it: GET /placement/resource_providers?required=${name}`,
      )
  })
}

function noTrait(name: string): Failure {
  return new Failure('not-found', `No such trait(s): ${name}.`)
}

function nameFilter(text: string | undefined): (name: string) => boolean {
  if (text === undefined) return () => true
  const [operator, value] = [text.split(':', 1)[0], text.slice(text.indexOf(':') + 1)]
  if (operator === 'startswith') return (name) => name.startsWith(value)
  if (operator === 'in') return (name) => value.split(',').includes(name)
  throw new Failure(
    'invalid',
    `Badly formatted name parameter. Expected name=in:<name1>,<name2> or name=startswith:<prefix>. Got: "${text}"`,
  )
}

function associatedOf(text: string | undefined): boolean | undefined {
  const word = text?.toLowerCase()
  if (word === undefined) return undefined
  if (word === 'true' || word === 'false') return word === 'true'
  throw new Failure('invalid', 'The query parameter "associated" only accepts "true" or "false"')
}
