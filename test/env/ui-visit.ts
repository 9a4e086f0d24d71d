import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from './api/client.ts'
import { Browser } from './browser.ts'
import type { Cloud } from './cloud.ts'

type Accounts = Readonly<Record<string, Pick<Account, 'user' | 'password'>>>

/** The page at `/ui` of a cloud in a browser. Disposing ends the browser. */
export class UiVisit implements AsyncDisposable {
  readonly browser: Browser
  readonly #url: string
  readonly #accounts: Accounts

  private constructor(browser: Browser, url: string, accounts: Accounts) {
    this.browser = browser
    this.#url = url
    this.#accounts = accounts
  }

  static async start(cloud: Cloud): Promise<UiVisit> {
    return UiVisit.at(cloud.endpoints[0]!, cloud.foundation.accounts)
  }

  /** At the gateway of this URL, whose users these are. */
  static async at(url: string, accounts: Accounts): Promise<UiVisit> {
    return new UiVisit(await Browser.start(), url, accounts)
  }

  /** Afterwards the page is open, and this user is signed in. */
  async signIn(who: string): Promise<void> {
    await this.browser.open(`${this.#url}/ui`)
    await this.untilText('Sign in to Weir')
    const { user, password } = this.#accounts[who]!
    await this.fill('name', user)
    await this.fill('password', password)
    await this.click('Sign in')
    await this.untilText('Sign out')
  }

  async signOut(): Promise<void> {
    await this.click('Sign out')
    await this.untilText('Sign in to Weir')
  }

  /** Resolves once the page shows this text. */
  async untilText(what: string): Promise<void> {
    await this.browser.until(what, `document.body.textContent.includes(${JSON.stringify(what)})`)
  }

  text(): Promise<string> {
    return this.browser.value('document.body.textContent') as Promise<string>
  }

  /** Opens a view by its address, and resolves once its heading begins with this. */
  async go(hash: string, heading: string): Promise<void> {
    await this.browser.value(`location.hash = ${JSON.stringify(hash)}`)
    await this.browser.until(
      heading,
      `document.querySelector('h1')?.textContent.startsWith(${JSON.stringify(heading)}) === true`,
    )
  }

  /** Clicks the button with this label, once it is there; a question about it is answered with yes. */
  async click(label: string): Promise<void> {
    const button = `[...document.querySelectorAll('button')].find((b) => b.textContent === ${JSON.stringify(label)})`
    await this.browser.until(label, `${button} !== undefined`)
    await this.browser.value(`window.confirm = () => true; ${button}.click()`)
  }

  /** Puts a value into the field of this name, as somebody who types or chooses it. */
  async fill(name: string, value: string): Promise<void> {
    const field = `document.querySelector('[name="${name}"]')`
    await this.browser.until(name, `${field} !== null`)
    await this.browser.value(`(() => {
      const field = ${field}
      field.value = ${JSON.stringify(value)}
      field.dispatchEvent(new Event('input', { bubbles: true }))
      field.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
  }

  /** Puts a picture of the page where WEIR_TEST_PICTURES names a folder, for people to look at. */
  async keep(name: string): Promise<void> {
    const folder = process.env['WEIR_TEST_PICTURES']
    if (folder !== undefined)
      await writeFile(join(folder, `${name}.png`), await this.browser.screenshot())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser[Symbol.asyncDispose]()
  }
}
