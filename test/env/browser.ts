import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { waitFor } from '#common/wait-for.ts'

const CHROMIUM = '/usr/bin/chromium'
const START_LIMIT_MS = 30_000
const LIMIT_MS = 30_000

/** Why no browser can be had here; undefined when one can. */
export function whyNoBrowser(): string | undefined {
  return existsSync(CHROMIUM) ? undefined : 'chromium is not installed'
}

/** A headless Chromium with one tab, driven over its DevTools protocol. Disposing ends it and leaves nothing. */
export class Browser implements AsyncDisposable {
  /** Every URL the tab asked for, WebSockets included. */
  readonly requested: string[] = []
  /** The errors of the page's console and of its security policy. */
  readonly complaints: string[] = []
  readonly #child: ChildProcess
  readonly #home: string
  readonly #socket: WebSocket
  readonly #pending = new Map<number, (result: Readonly<Record<string, unknown>>) => void>()
  #last = 0

  private constructor(child: ChildProcess, home: string, socket: WebSocket) {
    this.#child = child
    this.#home = home
    this.#socket = socket
    socket.on('message', (data: Buffer) => this.#receive(JSON.parse(data.toString()) as Message))
  }

  static async start(): Promise<Browser> {
    const home = await mkdtemp(join(tmpdir(), 'weir-browser-'))
    const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
    const own = [`--user-data-dir=${home}`, '--remote-debugging-port=0', '--window-size=1200,900']
    const child = spawn(CHROMIUM, [...options, ...own, 'about:blank'], { stdio: 'ignore' })
    const port = await waitFor('the browser', () => debuggingPort(home), START_LIMIT_MS)
    const tab = await waitFor('a tab', () => firstTab(port), START_LIMIT_MS)
    const socket = new WebSocket(tab)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    const browser = new Browser(child, home, socket)
    for (const domain of ['Network', 'Page', 'Runtime', 'Log'])
      await browser.#send(`${domain}.enable`)
    return browser
  }

  async open(url: string): Promise<void> {
    await this.#send('Page.navigate', { url: 'about:blank' })
    await this.#send('Page.navigate', { url })
  }

  /** The value of an expression in the page. */
  async value(expression: string): Promise<unknown> {
    const asked = { expression, returnByValue: true, awaitPromise: true }
    const { result } = await this.#send('Runtime.evaluate', asked)
    return (result as { readonly value?: unknown } | undefined)?.value
  }

  /** Resolves once the expression is true in the page. */
  async until(what: string, expression: string): Promise<void> {
    await waitFor(what, async () => (await this.value(expression)) === true, LIMIT_MS)
  }

  /** Types into what has the focus. */
  async type(text: string): Promise<void> {
    for (const key of text)
      await this.#send('Input.dispatchKeyEvent', { type: 'char', text: key === '\n' ? '\r' : key })
  }

  /** Presses and releases a key, such as `Tab` or `Enter`, on what has the focus. */
  async press(key: keyof typeof KEYS): Promise<void> {
    const { code, text } = KEYS[key]
    const event = { key, code: key, windowsVirtualKeyCode: code }
    const down = text === undefined ? { type: 'rawKeyDown' } : { type: 'keyDown', text }
    await this.#send('Input.dispatchKeyEvent', { ...event, ...down })
    await this.#send('Input.dispatchKeyEvent', { ...event, type: 'keyUp' })
  }

  /** Shows the page from now on in such a window, in the colours for light or darkness. */
  async showAs({ width, height, scheme }: Looks): Promise<void> {
    const size = { width, height, deviceScaleFactor: 1, mobile: false }
    await this.#send('Emulation.setDeviceMetricsOverride', size)
    const features = [{ name: 'prefers-color-scheme', value: scheme }]
    await this.#send('Emulation.setEmulatedMedia', { features })
  }

  /** A picture of the page, PNG. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#send('Page.captureScreenshot', { format: 'png' })
    return Buffer.from(String(data), 'base64')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#socket.terminate()
    this.#child.kill('SIGKILL')
    await ended
    await rm(this.#home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  #send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#last += 1
    const id = this.#last
    return new Promise((resolve) => {
      this.#pending.set(id, resolve)
      this.#socket.send(JSON.stringify({ id, method, params }))
    })
  }

  #receive({ id, result = {}, method, params }: Message): void {
    if (id !== undefined) this.#pending.get(id)?.(result)
    if (method === 'Network.requestWillBeSent') this.requested.push(params?.request?.url ?? '')
    if (method === 'Network.webSocketCreated') this.requested.push(params?.url ?? '')
    if (method === 'Log.entryAdded') this.complaints.push(params?.entry?.text ?? '')
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params))
  }
}

/** How a page is shown. */
export interface Looks {
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}

const KEYS = {
  Tab: { code: 9, text: undefined },
  Enter: { code: 13, text: '\r' },
} as const

interface Message {
  readonly id?: number
  readonly result?: Readonly<Record<string, unknown>>
  readonly method?: string
  readonly params?: {
    readonly url?: string
    readonly request?: { readonly url: string }
    readonly entry?: { readonly text: string }
  }
}

async function debuggingPort(home: string): Promise<number | undefined> {
  const text = await readFile(join(home, 'DevToolsActivePort'), 'utf8').catch(() => '')
  return Number(text.split('\n')[0]) || undefined
}

async function firstTab(port: number): Promise<string | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined)
  const targets = ((await answer?.json()) ?? []) as readonly {
    readonly type: string
    readonly webSocketDebuggerUrl: string
  }[]
  return targets.find(({ type }) => type === 'page')?.webSocketDebuggerUrl
}
