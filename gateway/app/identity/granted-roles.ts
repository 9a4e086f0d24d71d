import { Failure } from '#common/errors.ts'
import type { Caller } from '../request-context.ts'
import type { RoleModel } from './effective-roles.ts'
import type { RoleRef } from './token-view.ts'

/** A role by id or by name. */
export interface RoleChoice {
  readonly id?: string
  readonly name?: string
}

/** The roles chosen, all of the caller's when none are; throws `invalid` for one the caller does not have. */
export function grantedRoles(
  model: RoleModel,
  caller: Caller,
  chosen: readonly RoleChoice[] | undefined,
): readonly RoleRef[] {
  const owned = model.roles.filter(({ name }) => caller.roles.has(name))
  if (chosen === undefined || chosen.length === 0) return owned
  const roles = chosen.map(({ id, name }) => {
    const role = owned.find((it) => it.id === id || it.name === name)
    if (role === undefined)
      throw new Failure('invalid', `The token does not have the role ${id ?? name}.`)
    return role
  })
  return [...new Set(roles)]
}
