import type { Role } from './model.ts'

/** Every role there is, and which implies which. */
export interface RoleModel {
  readonly roles: readonly Role[]
  readonly implied: readonly { readonly priorId: string; readonly impliedId: string }[]
}

/**
 * The roles of these ids and all they imply, each once, in the order of the model. Unknown ids give nothing. A role of
 * a domain counts only by what it implies: its name is its domain's own, and might be that of any role of the cloud.
 */
export function effectiveRoles(model: RoleModel, assignedIds: Iterable<string>): readonly Role[] {
  const reached = reachedRoles(model, assignedIds)
  return model.roles.filter(({ id, domainId }) => reached.has(id) && domainId === '')
}

/** The ids given and those of all they imply, of domains, too. */
export function reachedRoles(
  model: Pick<RoleModel, 'implied'>,
  assignedIds: Iterable<string>,
): ReadonlySet<string> {
  const reached = new Set(assignedIds)
  // A set grows while it is walked: added entries are visited, too, and none twice, so cycles end.
  for (const id of reached)
    for (const { priorId, impliedId } of model.implied) if (priorId === id) reached.add(impliedId)
  return reached
}
