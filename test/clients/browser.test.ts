import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activeServer, SERVERS } from '#test/env/api/servers.ts'
import { Browser, whyNoBrowser } from '#test/env/browser.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'

const why = whyNoBrowser()

describe.skipIf(why !== undefined || !isFullRun)('in a browser', () => {
  let cloud: Cloud
  let browser: Browser
  let endpoint: string

  beforeAll(async () => {
    cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
    browser = await Browser.start()
    endpoint = cloud.endpoints[0]!
  })

  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
  })

  /** Nothing was asked of anyone but the gateway, and the page's policy forbade nothing it needs. */
  function expectAtHome(): void {
    const home = new URL(endpoint).host
    const foreign = browser.requested.filter(
      (url) => /^(http|ws)/.test(url) && new URL(url).host !== home,
    )
    expect(foreign).toEqual([])
    expect(browser.complaints).toEqual([])
  }

  /** Puts a picture of the page where WEIR_TEST_PICTURES names a folder, for people to look at. */
  async function keep(name: string): Promise<void> {
    const folder = process.env['WEIR_TEST_PICTURES']
    if (folder !== undefined)
      await writeFile(join(folder, `${name}.png`), await browser.screenshot())
  }

  /** Resolves once the reference shows this path among the operations of this tag. */
  async function openTag(tag: string, path: string): Promise<void> {
    const heading = `document.querySelector('.opblock-tag[data-tag="${tag}"]')`
    await browser.until(`the tag ${tag}`, `${heading} !== null`)
    await browser.value(`${heading}.click()`)
    const paths = `[...document.querySelectorAll('.opblock-summary-path')]`
    await browser.until(path, `${paths}.some(({ dataset }) => dataset.path === '${path}')`)
  }

  test('the reference shows any service at any microversion', async () => {
    await browser.open(`${endpoint}/docs?service=compute&microversion=2.37`)
    await openTag('servers', '/v2.1/servers/detail')
    expect(await browser.value(`document.querySelector('.info .version').textContent.trim()`)).toBe(
      '2.37',
    )

    await browser.value(`service.value = 'network'; service.dispatchEvent(new Event('change'))`)
    await openTag('networks', '/v2.0/networks')
    expectAtHome()
  })

  test('the page at the endpoint links the services', async () => {
    await browser.open(`${endpoint}/home`)
    await browser.until('the page', `document.getElementById('ready')?.textContent === 'ready'`)
    expect(await browser.value(`document.getElementById('identity').textContent`)).toBe(
      `${endpoint}/identity/v3`,
    )
    await keep('home')
    expectAtHome()
  })

  test('a serial console is a terminal, in which typed text reaches the guest', async () => {
    const demo = cloud.as('demo')
    const { id } = await activeServer(cloud, demo, { name: 'talker' })
    const { body } = await demo.post<{ remote_console: { url: string } }>(
      `${SERVERS}/${id}/remote-consoles`,
      { remote_console: { protocol: 'serial', type: 'serial' } },
      { version: '2.6' },
    )

    await browser.open(body.remote_console.url)
    await browser.until(
      'the terminal',
      `document.getElementById('state')?.textContent === 'Connected'`,
    )
    expect(await browser.value('document.title')).toBe('talker – Serial console')
    await browser.type('hello, guest')

    await browser.until(
      'the echo',
      `document.querySelector('.xterm-rows').textContent.includes('hello, guest')`,
    )
    expect(await browser.value('location.hash')).toBe('')
    expect(
      Number(await browser.value(`document.querySelector('.xterm-rows').childElementCount`)),
    ).toBeGreaterThan(30)
    await keep('serial')
    expectAtHome()

    await browser.open(body.remote_console.url)
    await browser.until('the reason', `document.getElementById('end')?.hidden === false`)
    expect(await browser.value(`document.getElementById('reason').textContent`)).toContain(
      'its address was used before',
    )
    await keep('used')
  })

  test('a screen has its server’s name, and keys that a browser keeps for itself', async () => {
    const demo = cloud.as('demo')
    const { id } = await activeServer(cloud, demo, { name: 'shown' })
    const { body } = await demo.post<{ remote_console: { url: string } }>(
      `${SERVERS}/${id}/remote-consoles`,
      { remote_console: { protocol: 'vnc', type: 'novnc' } },
      { version: '2.6' },
    )

    await browser.open(body.remote_console.url)
    await browser.until('the name', `document.getElementById('server')?.textContent === 'shown'`)
    await keep('vnc')
    await browser.value('location.reload()')
    await browser.until('the reason', `document.getElementById('end')?.hidden === false`)
    expect(await browser.value(`document.getElementById('reason').textContent`)).toContain(
      'no longer has the token',
    )
  })
})
