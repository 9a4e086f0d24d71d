import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { listProviders } from './list-providers.ts'
import { DISABLED_TRAIT } from './provider.ts'

export interface TraitQuery {
  readonly name?: string
  readonly associated?: string
}

/** The traits of all hosts; every one is some host's, but for the one that says that a host is disabled. */
export async function listTraits(db: Executor, query: TraitQuery): Promise<readonly string[]> {
  const isNamed = nameFilter(query.name)
  const associated = associatedOf(query.associated)
  const providers = await listProviders(db, {})
  const used = new Set(providers.flatMap(({ traits }) => traits))
  const traits = [...new Set([...used, DISABLED_TRAIT])].toSorted()
  return traits.filter(
    (name) => isNamed(name) && (associated === undefined || used.has(name) === associated),
  )
}

/** Throws `not-found` for a trait no host has. */
export async function checkTrait(db: Executor, name: string): Promise<void> {
  if ((await listTraits(db, {})).includes(name)) return
  throw new Failure('not-found', `No such trait(s): ${name}.`)
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
