import { callApi, type Session } from '../api/session.ts'
import { DEMO_FLAVORS, type FlavorBody } from './demo-flavors.ts'

/** Afterwards every one of these flavors exists; one an operator changed or made under the same name stays. */
export async function ensureFlavors(
  admin: Session,
  wanted: readonly FlavorBody[] = DEMO_FLAVORS,
): Promise<void> {
  const path = '/compute/v2.1/flavors'
  const { flavors } = await callApi<{ flavors: readonly { name: string }[] }>(admin, {
    method: 'GET',
    path,
  })
  const present = new Set(flavors.map(({ name }) => name))
  for (const { extraSpecs, ...flavor } of wanted.filter(({ name }) => !present.has(name))) {
    await callApi(admin, { method: 'POST', path, body: { flavor } })
    if (extraSpecs === undefined) continue
    const specs = `${path}/${flavor.id}/os-extra_specs`
    await callApi(admin, { method: 'POST', path: specs, body: { extra_specs: extraSpecs } })
  }
}
