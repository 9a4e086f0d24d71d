import { callApi, type Session } from '../api/session.ts'
import { DEMO_FLAVORS } from './demo-flavors.ts'

/** Afterwards every demo flavor exists; one an operator changed or made under the same name stays. */
export async function ensureFlavors(admin: Session): Promise<void> {
  const path = '/compute/v2.1/flavors'
  const { flavors } = await callApi<{ flavors: readonly { name: string }[] }>(admin, {
    method: 'GET',
    path,
  })
  const present = new Set(flavors.map(({ name }) => name))
  for (const flavor of DEMO_FLAVORS.filter(({ name }) => !present.has(name)))
    await callApi(admin, { method: 'POST', path, body: { flavor } })
}
