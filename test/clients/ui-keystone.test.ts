import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen } from '#gateway/listen.ts'
import { whyNoBrowser } from '#test/env/browser.ts'
import { computeApi } from '#test/env/compute-api.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { ADMIN_PASSWORD, RealKeystone, whyNoKeystone } from '#test/env/real-keystone.ts'
import { UiVisit } from '#test/env/ui-visit.ts'

const why = isFullRun ? (whyNoBrowser() ?? whyNoKeystone()) : 'it takes a Keystone and a browser'
const LIMIT_MS = 600_000
const PASSWORD = 'correct horse'

describe.skipIf(why !== undefined)('the page at /ui, with Debian’s Keystone', () => {
  const owned = new AsyncDisposableStack()
  let keystone: RealKeystone
  let visit: UiVisit

  beforeAll(async () => {
    keystone = owned.use(await RealKeystone.start())
    await addUser('ann', ['lab', 'ops'])
    const api = owned.use(
      await computeApi('ui_real_keystone', [], {
        GATEWAY_IDENTITY_MODE: 'external',
        GATEWAY_IDENTITY_URL: keystone.url,
        GATEWAY_IDENTITY_USER: 'admin',
        GATEWAY_IDENTITY_PROJECT: 'admin',
        GATEWAY_IDENTITY_PASSWORD: ADMIN_PASSWORD,
      }),
    )
    const { port } = owned.use(await listen(api.gateway))
    const accounts = {
      admin: { user: 'admin', password: ADMIN_PASSWORD },
      ann: { user: 'ann', password: PASSWORD },
    }
    visit = owned.use(await UiVisit.at(`http://127.0.0.1:${port}`, accounts))
  }, LIMIT_MS)

  afterAll(() => owned.disposeAsync(), LIMIT_MS)

  /** Afterwards this user is a member of these new projects. */
  async function addUser(name: string, projects: readonly string[]): Promise<void> {
    const domain = { name: 'Default' }
    const user = { name: 'admin', password: ADMIN_PASSWORD, domain }
    const identity = { methods: ['password'], password: { user } }
    const auth = { identity, scope: { project: { name: 'admin', domain } } }
    const { token } = await keystone.ask('POST', '/auth/tokens', { body: { auth } })
    const make = async (kind: string, body: object) =>
      (await keystone.ask('POST', `/${kind}s`, { token, body: { [kind]: body } })).body[kind]!.id
    const id = await make('user', { name, password: PASSWORD })
    const roles = await keystone.ask('GET', '/roles?name=member', { token })
    const [role] = roles.body['roles'] as unknown as readonly [{ readonly id: string }]
    for (const project of projects) {
      const path = `/projects/${await make('project', { name: project })}/users/${id}/roles/${role.id}`
      await keystone.ask('PUT', path, { token })
    }
  }

  test('a user of the Keystone signs in, changes the project, and signs out', async () => {
    await visit.signIn('ann')
    await visit.untilText('There is no such server.')
    await visit.untilText('ops')
    const shown = `document.querySelector('header select').selectedOptions[0].textContent`
    expect(await visit.browser.value(shown)).toBe('lab')
    await visit.browser.value(`(() => {
      const select = document.querySelector('header select')
      select.value = [...select.options].find((each) => each.textContent === 'ops').value
      select.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await visit.browser.until(
      'the other project',
      `fetch('session', { headers: { 'x-weir-page': '1' } }).then((a) => a.json()).then((s) => s.project.name === 'ops')`,
    )
    expect(await visit.text()).not.toContain('Overview')
    await visit.signOut()
    expect(visit.browser.complaints).toEqual([])
  })

  test('an administrator of the Keystone sees the federation', async () => {
    await visit.signIn('admin')
    await visit.untilText('Cells reachable')
    await visit.go('#/policies', 'Placement policies')
    await visit.signOut()
  })

  test('a wrong password is refused, and so is every one while the Keystone is away', async () => {
    await visit.fill('name', 'ann')
    await visit.fill('password', 'wrong')
    await visit.click('Sign in')
    await visit.untilText('does not accept this user, password and domain')

    await keystone[Symbol.asyncDispose]()
    await visit.fill('password', PASSWORD)
    await visit.click('Sign in')
    await visit.untilText('The identity service does not answer.')
    await visit.keep('ui-keystone-away')
  })
})
