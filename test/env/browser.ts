import { existsSync } from 'node:fs'
import { type Browser as Chromium, chromium, type Page } from 'playwright-core'
import { waitFor } from '#common/wait-for.ts'

const CHROMIUM = '/usr/bin/chromium'
const START_LIMIT_MS = 30_000
const LIMIT_MS = 30_000
const WINDOW = { width: 1_200, height: 900 } as const

/** Why no browser can be had here; undefined when one can. */
export function whyNoBrowser(): string | undefined {
  return existsSync(CHROMIUM) ? undefined : 'chromium is not installed'
}

/** A headless Chromium, the one of Debian, with one tab, driven by Playwright. Disposing ends it and leaves nothing. */
export class Browser implements AsyncDisposable {
  /** Every URL the tab asked for, WebSockets included. */
  readonly requested: string[] = []
  /** The errors of the page's console and of its security policy. */
  readonly complaints: string[] = []
  readonly #chromium: Chromium
  readonly #page: Page

  private constructor(started: Chromium, page: Page) {
    this.#chromium = started
    this.#page = page
    page.on('request', (request) => this.requested.push(request.url()))
    page.on('websocket', (socket) => this.requested.push(socket.url()))
    page.on('pageerror', (error) => this.complaints.push(String(error.stack)))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
    })
  }

  static async start(): Promise<Browser> {
    const started = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--disable-gpu', '--disable-dev-shm-usage'],
      timeout: START_LIMIT_MS,
    })
    try {
      return new Browser(started, await started.newPage({ viewport: WINDOW }))
    } catch (error) {
      await started.close()
      throw error
    }
  }

  /** The page is as new afterwards, even if it is the one that was shown. */
  async open(url: string): Promise<void> {
    await this.#page.goto('about:blank')
    await this.#page.goto(url, { waitUntil: 'commit' })
  }

  /** The value of an expression in the page. */
  async value(expression: string): Promise<unknown> {
    return this.#page.evaluate(expression)
  }

  /** Resolves once the expression is true in the page. */
  async until(what: string, expression: string): Promise<void> {
    await waitFor(what, async () => (await this.value(expression)) === true, LIMIT_MS)
  }

  /** Types into what has the focus. */
  async type(text: string): Promise<void> {
    await this.#page.keyboard.type(text)
  }

  /** Presses and releases a key on what has the focus. */
  async press(key: 'Tab' | 'Enter'): Promise<void> {
    await this.#page.keyboard.press(key)
  }

  /** Shows the page from now on in such a window, in the colours for light or darkness. */
  async showAs({ width, height, scheme }: Looks): Promise<void> {
    await this.#page.setViewportSize({ width, height })
    await this.#page.emulateMedia({ colorScheme: scheme })
  }

  /** A picture of the page, PNG. */
  async screenshot(): Promise<Buffer> {
    return this.#page.screenshot()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chromium.close()
  }
}

/** How a page is shown. */
export interface Looks {
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}
