import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activeServer, SERVERS } from '#test/env/api/servers.ts'
import { Browser, whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { storesReported } from '#test/env/stores-reported.ts'

const why = whyNoBrowser()

describe.skipIf(why !== undefined || !isFullRun)('the page at /ui in a browser', () => {
  let cloud: Cloud
  let browser: Browser
  let ui: string
  let id: string

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
    browser = await Browser.start()
    ui = `${cloud.endpoints[0]}/ui`
    await storesReported(cloud)
    id = (await activeServer(cloud, cloud.as('demo'), { name: 'shown' })).id
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })

  /** Puts a picture of the page where WEIR_TEST_PICTURES names a folder, for people to look at. */
  async function keep(name: string): Promise<void> {
    const folder = process.env['WEIR_TEST_PICTURES']
    if (folder !== undefined)
      await writeFile(join(folder, `${name}.png`), await browser.screenshot())
  }

  const text = () => browser.value('document.body.textContent') as Promise<string>
  const untilText = (what: string) =>
    browser.until(what, `document.body.textContent.includes(${JSON.stringify(what)})`)
  const go = (hash: string) => browser.value(`location.hash = ${JSON.stringify(hash)}`)
  const click = (label: string) =>
    browser.value(
      `[...document.querySelectorAll('button')].find((b) => b.textContent === ${JSON.stringify(label)}).click()`,
    )

  async function signIn(who: 'admin' | 'demo'): Promise<void> {
    await browser.open(ui)
    await untilText('Sign in to Weir')
    const { user, password } = cloud.foundation.accounts[who]
    await browser.value(`(() => {
      const set = (name, value) => { document.querySelector('[name=' + name + ']').value = value }
      set('name', ${JSON.stringify(user)}); set('password', ${JSON.stringify(password)})
      document.querySelector('form').requestSubmit()
    })()`)
    await untilText('Sign out')
  }

  test('an operator sees why a volume is where it is', async () => {
    const made = await cloud
      .as('demo')
      .post('/volume/v3/volumes', { volume: { size: 1, name: 'placed' } })
    const { id: volume } = made.body['volume'] as { id: string }
    await signIn('admin')
    await go('#/volumes')
    await untilText('placed')
    await go(`#/volumes/${volume}`)
    await untilText('Choice of a store in')
    await untilText('openstack volume delete')
    await keep('ui-volume')
    expect(browser.complaints).toEqual([])
    await cloud.as('demo').delete(`/volume/v3/volumes/${volume}`)
    await click('Sign out')
    await untilText('Sign in to Weir')
  })

  test('an operator sees the federation, its cells, hosts and servers', async () => {
    await signIn('admin')
    await untilText('Cells reachable')
    await untilText('2 of 2')
    await keep('ui-overview')
    await go('#/cells/north')
    await untilText('north-1')
    await keep('ui-cell')
    await go('#/servers')
    await untilText('shown')
    await go(`#/servers/${id}`)
    await untilText('Choice of a cell')
    await untilText('compute__do_build_and_run_instance')
    await keep('ui-server')
    await go('#/create')
    await untilText('To host ')
    await keep('ui-create')
    expect(browser.complaints).toEqual([])
    await click('Sign out')
    await untilText('Sign in to Weir')
  })

  test('a user of a project sees its servers, stops one, and nothing of the federation', async () => {
    await signIn('demo')
    await untilText('shown')
    expect(await text()).not.toContain('Overview')
    await go(`#/servers/${id}`)
    await untilText('Reboot')
    await untilText('It has no volume.')
    await untilText('fa:16:3e:')
    await click('Stop')
    await untilText('SHUTOFF')
    await go('#/volumes')
    await untilText('There is no volume.')
    await browser.value(`(() => {
      const name = document.querySelector('[aria-label="New volume"] [name=name]')
      name.value = 'made here'
      name.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
    await untilText("openstack volume create --size 1 'made here'")
    await click('Create')
    await untilText('available')
    await keep('ui-volumes')
    await go('#/events')
    await untilText('server.state')
    // It comes by the stream: the page was open before.
    const started = await cloud.as('demo').post(`${SERVERS}/${id}/action`, { 'os-start': null })
    expect(started.status).toBe(202)
    await untilText('compute_start_instance')
    await keep('ui-events')
    expect(browser.complaints).toEqual([])
    await click('Sign out')
    await untilText('Sign in to Weir')
  })
})
