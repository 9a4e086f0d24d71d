/** The projects that may use a flavor. */
export function flavorAccessView(flavorId: string, projectIds: readonly string[]) {
  return {
    flavor_access: projectIds.map((projectId) => ({ flavor_id: flavorId, tenant_id: projectId })),
  }
}
