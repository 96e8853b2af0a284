// A browser starts no worker from a file. Where the site is read as files, the search's worker runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      this.inner = frame.contentWindow
      this.inner.answer = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inner.ready = () => {
        this.ready = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      }
      const [open, close] = ["<script", "</" + "script>"]
      this.inner.document.open()
      this.inner.document.write(
        `${open}>postMessage = answer${close}${open} src="${url}" onload="ready()">${close}`)
      this.inner.document.close()
    }

    postMessage(data) {
      if (!this.ready) this.waiting.push(data)
      else this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }))
    }
  }
}
