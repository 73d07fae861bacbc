//! The module `k6/html`, and the methods of responses that look into their HTML.

use super::*;

const PAGE: &str = r##"<!DOCTYPE html><html lang="en"><head><title>A &amp; B</title></head><body>
<dl><dt id="term-1">term 1</dt><dd>1-a</dd><dd>1-b</dd><dt id="term-2" class="x y">term 2</dt>
<dd data-age="7" data-first-name="Jo" data-list="[1,2]" data-on="true">2-a</dd><!--note--></dl>
<a href="/next?x=1#f" rel="next nofollow">go <b>on</b></a>
<form action="/save" method="post"><input name="user" value="jo"><input name="off" disabled value="1">
<input type="checkbox" name="c" checked><input type="checkbox" name="d"><input type="submit" name="s" value="ok">
<textarea name="t">
text</textarea><select name="one"><option>a</option><option selected value="B">b</option></select>
<select name="many" multiple><option selected>1</option><option selected>2</option></select></form>
</body></html>"##;

fn value(expression: &str) -> String {
    let imports = format!(
        "import {{ parseHTML }} from 'k6/html'; const page = {};
         const doc = parseHTML(page, 'http://x.test/dir/p'); const at = (s) => doc.find(s).get(0);",
        serde_json::to_string(PAGE).unwrap()
    );
    value_with(&imports, expression)
}

#[test]
fn selections() {
    for (expression, want) in [
        ("doc.find('title').text()", "A & B"),
        ("doc.find('title').html()", "A &amp; B"),
        ("doc.find('dt').size()", "2"),
        ("doc.find('dl').find('dd').text()", "1-a1-b2-a"),
        ("doc.find('dd').first().text() + doc.find('dd').last().text()", "1-a2-a"),
        ("doc.find('dd').eq(1).text() + doc.find('dd').eq(-1).text()", "1-b2-a"),
        ("doc.find('dd').eq(9).size()", "0"),
        ("doc.find('dl').children().size()", "5"),
        ("doc.find('dl').children('dt').size()", "2"),
        ("doc.find('dl').contents().size() > 5", "true"),
        ("doc.find('b').closest('a').attr('href')", "/next?x=1#f"),
        ("doc.find('b').parent().attr('rel')", "next nofollow"),
        ("doc.find('b').parents().map((i, el) => el.get(0).nodeName())", r#"["html","body","a"]"#),
        ("doc.find('b').parentsUntil('body').size()", "1"),
        ("doc.find('#term-1').next().text()", "1-a"),
        ("doc.find('#term-1').nextAll('dd').size()", "3"),
        ("doc.find('#term-1').nextUntil('dt').text()", "1-a1-b"),
        ("doc.find('#term-2').prev().text()", "1-b"),
        ("doc.find('#term-2').prevAll().size()", "3"),
        ("doc.find('#term-2').prevUntil('#term-1').text()", "1-a1-b"),
        ("doc.find('dt').filter('#term-2').text()", "term 2"),
        ("doc.find('dt').filter((i, el) => el.text() === 'term 1').attr('id')", "term-1"),
        ("doc.find('dt, dd').filter(doc.find('#term-1')).size()", "1"),
        ("doc.find('dt').not('#term-2').attr('id')", "term-1"),
        ("doc.find('dt').is('.x') + ',' + doc.find('dt').is('.z')", "true,false"),
        ("doc.find('a, dl').has('b').attr('rel')", "next nofollow"),
        ("doc.find('dd').slice(1, 3).text()", "1-b2-a"),
        ("doc.find('dd').map((i, el) => i + el.text())", r#"["01-a","11-b","22-a"]"#),
        ("doc.find('dd').toArray().length + doc.find('dd').toArray()[0].text()", "31-a"),
        ("doc.find('#term-2').index()", "3"),
        ("doc.find('p').attr('id') + doc.find('p').attr('id', 'no')", "undefinedno"),
        ("doc.find('[data-age]').data('age') + 1", "8"),
        ("doc.find('[data-age]').data()", r#"{"age":7,"firstName":"Jo","list":[1,2],"on":true}"#),
        ("doc.find('textarea').val() + doc.find('[name=one]').val()", "textB"),
        ("doc.find('[name=many]').val()", r#"["1","2"]"#),
        ("doc.find('form').serialize()", "user=jo&c=on&t=text&one=B&many=1&many=2"),
        (
            "doc.find('form').serializeObject()",
            r#"{"user":"jo","c":"on","t":"text","one":"B","many":["1","2"]}"#,
        ),
        ("doc.find('form').serializeArray()[1]", r#"{"name":"c","value":"on"}"#),
        ("doc.find('dd:nth-child(2)').text() + doc.find('dt:contains(\"term 2\")').size()", "1-a1"),
        (
            "(() => { const seen = []; doc.find('dt').each((i, el) => seen.push(el.id())); return seen; })()",
            r#"["term-1","term-2"]"#,
        ),
    ] {
        assert_eq!(value(expression), want, "{expression}");
    }
}

/// What k6 2.2 finds.
#[test]
fn selections_grow_and_go_back() {
    let page = "<div><p id=a class='x y'>a</p>t<a id=l href=https://x:81/p data-y='' data-z=0>l</a>\
        <p id=b class=x>b</p></div>";
    for (expression, want) in [
        ("ids(d.find('#l').siblings()) + ids(d.find('#l').siblings('.y'))", "a ba"),
        ("ids(d.single('p')) + d.single('q').size() + ids(d.find('div').single('a'))", "a0l"),
        ("ids(d.find('#b').add('#a')) + ids(d.find('#b').add(d.find('a')))", "b ab l"),
        ("ids(d.find('p').add('p'))", "a b"),
        ("ids(d.find('p').first().end()) + d.end().size()", "a b0"),
        ("d.url + typeof d.find('p').url", "http://x/string"),
        (
            "e('div').getElementsByTagName('P').length + e('div').getElementsByTagName('*').length",
            "5",
        ),
        (
            "e('div').getElementsByClassName('y x').length + e('div').getElementsByClassName('x').length",
            "3",
        ),
        ("e('a').protocol() + e('a').host()", "httpsx:81"),
        ("[d.find('a').data('y') === undefined, d.find('a').data()]", "[true,{\"z\":0}]"),
    ] {
        let imports = format!(
            "import {{ parseHTML }} from 'k6/html'; const d = parseHTML(`{page}`, 'http://x/');
             const e = (s) => d.find(s).get(0); const ids = (s) => s.map((i, e) => e.attr('id')).join(' ');"
        );
        assert_eq!(value_with(&imports, expression), want, "{expression}");
    }
}

/// What k6 2.2 finds, by id.
#[test]
fn selectors_of_state_match_a_page_at_rest() {
    let page = "<form><fieldset disabled id=fs><legend><input id=inlegend></legend><input id=infs>\
        <fieldset id=inner></fieldset></fieldset>\
        <input id=a type=checkbox checked><input id=b type=checkbox><input id=c type=radio checked>\
        <input id=t type=text checked><input id=T type=CHECKBOX checked><select id=s>\
        <option id=o1>1</option><option id=o2 selected>2</option></select><select id=s2 multiple>\
        <optgroup disabled id=og><option id=o3>3</option></optgroup></select>\
        <button id=bt disabled>x</button></form><a id=l href=/x>l</a><a id=n>n</a>";
    for (selector, want) in [
        (":checked", "a c T o2"),
        ("input:not(:checked)", "inlegend infs b t"),
        ("option:CHECKED", "o2"),
        (":disabled", "fs infs inner og o3 bt"),
        (":enabled", "inlegend a b c t T s o1 o2 s2 l"),
        ("form > :enabled:not(:checked)", "b t s s2"),
        (":link", "l"),
        ("form :hover, form :focus, form :active, :visited", ""),
        (":input", "inlegend infs a b c t T s s2 bt"),
        ("[id=':checked']", ""),
    ] {
        let found = value_with(
            "import { parseHTML } from 'k6/html';",
            &format!(
                "parseHTML(`{page}`).find(\"{selector}\").map((i, e) => e.attr('id')).join(' ')"
            ),
        );
        assert_eq!(found, want, "{selector}");
    }
}

#[test]
fn elements() {
    for (expression, want) in [
        ("at('a').nodeName() + at('a').nodeType()", "a1"),
        ("at('a').innerHTML()", "go <b>on</b>"),
        ("at('a').textContent()", "go on"),
        ("at('a').getAttribute('rel') + at('a').hasAttribute('id')", "next nofollowfalse"),
        ("at('a').relList()", r#"["next","nofollow"]"#),
        ("at('a').href() + ' ' + at('a').pathname()", "http://x.test/next?x=1#f /next"),
        ("at('a').hash() + at('a').search() + at('a').host()", "#f?x=1x.test"),
        ("at('#term-2').classList()", r#"["x","y"]"#),
        ("at('#term-2').attributes().class.value + at('#term-2').className()", "x yx y"),
        ("at('dl').children().length + at('dl').childElementCount()", "10"),
        ("at('dl').firstElementChild().id() + at('dl').lastChild().nodeValue()", "term-1note"),
        ("at('a').lastChild().nodeName() + at('a').firstChild().nodeValue()", "bgo "),
        ("at('#term-1').nextElementSibling().textContent()", "1-a"),
        ("at('#term-2').previousElementSibling().textContent()", "1-b"),
        ("at('b').parentElement().isSameNode(at('a'))", "true"),
        ("at('dl').contains(at('dd')) + ',' + at('dd').contains(at('dl'))", "true,false"),
        ("at('b').matches('a > b')", "true"),
        (
            "at('dl').querySelectorAll('dt').length + at('dl').querySelector('dd').textContent()",
            "21-a",
        ),
        ("at('html').lang() + at('b').lang() + at('b').ownerDocument().nodeType()", "enundefined9"),
        ("at('form').method() + at('form').action()", "posthttp://x.test/save"),
        ("at('form').elements().length", "8"),
        ("at('[name=c]').checked() + ',' + at('[name=d]').checked()", "true,false"),
        ("at('[name=one]').selectedIndex() + at('[name=one]').value()", "1B"),
        ("at('[name=user]').form().nodeName() + at('[name=user]').maxLength()", "form-1"),
        (
            "[String(at('b')), String(at('b').firstChild()), String(at('a'))]",
            r##"["[object html.Node]","[object #text]","http://x.test/next?x=1#f"]"##,
        ),
        ("at('body').parentNode().parentNode().parentNode() === undefined", "true"),
    ] {
        assert_eq!(value(expression), want, "{expression}");
    }
}

/// Elements of each kind, with what k6 2.2 has of them: of an attribute that is there, of one that
/// is not or makes no sense, and of what is around. Methods of other kinds are absent.
const KINDS: &str = r##"<html><head><base href=/b/><title>T &amp; t</title><link rel="a b" href=x.css
crossorigin=bad><style id=st></style><meta http-equiv=x></head><body>
<a id=a href="https://u:p%20w@H.test:443/p%20q?x=1#f%20g" rel="next no" referrerpolicy=origin>go</a>
<a id=a2></a><a id=a3 href="rel/x"></a><a id=a4 href="mailto:x@y.z"></a><a id=a5 href="http://h:80"></a>
<img id=i src=i.png width=10 height=10px><canvas id=c></canvas><embed id=em width=1>
<map id=mp><area id=ar></map><img id=i2 usemap="#mp"><video id=v muted><track id=tk></video>
<form id=f method=POST><label id=l for=in>L</label><fieldset id=fs><input id=in type=bogus min=1
value=v list=dl formaction=fa></fieldset><button id=b>go<i>x</i></button><select id=s><option id=o1>a &amp; b
</option><optgroup disabled><option id=o2 value=B selected>b</option></optgroup></select>
<select id=s2 multiple></select><textarea id=t rows=4 cols=x>text</textarea><output id=ou>r</output>
<progress id=p value=3 max=4></progress><progress id=p2></progress><meter id=m max=5></meter></form>
<datalist id=dl><option id=d1>1</option><option id=d2>2</option></datalist><select id=s3 form=f><option id=o3>
</select><ol id=ol type=A><li id=li value=4 type=zz></ol>
<table id=tb><caption id=cap></caption><colgroup><col id=co span=0></colgroup><thead id=th><tr id=r1><th id=h1
scope=row></tr></thead><tbody id=bd><tr id=r2><td id=x1><td id=x2 colspan=3 rowspan=y></tr></tbody></table>"##;

#[test]
fn elements_have_what_their_kind_has() {
    let imports = format!(
        "import {{ parseHTML }} from 'k6/html'; const page = {};
         const at = (id, url) => parseHTML(page, url).find('#' + id).get(0);
         const first = (name) => parseHTML(page).find(name).get(0);
         const ids = (all) => all.map((e) => e.id()).join(' ');",
        serde_json::to_string(KINDS).unwrap()
    );
    let u = "'http://x.test/dir/p'";
    for (expression, want) in [
        // Defaults, and words that are not known.
        (
            "[at('in').type(), at('b').type(), at('st').type(), at('s').type(), at('s2').type()]",
            r#"["text","submit","text/css","select","select-multiple"]"#,
        ),
        (
            "[at('fs').type(), at('t').type(), at('ou').type(), at('ol').type(), at('li').type()]",
            r#"["fieldset","textarea","output","A",""]"#,
        ),
        (
            "[at('f').method(), at('f').enctype(), at('f').encoding(), at('f').autocomplete()]",
            r#"["post","application/x-www-form-urlencoded","application/x-www-form-urlencoded","on"]"#,
        ),
        (
            "[at('in').formMethod(), at('in').formEnctype(), at('in').formNoValidate()]",
            r#"["post","application/x-www-form-urlencoded",false]"#,
        ),
        (
            "[at('a').referrerPolicy(), at('a2').referrerPolicy(), first('link').crossOrigin() === undefined]",
            r#"["origin","",true]"#,
        ),
        (
            "[first('meta').httpEquiv(), at('tk').kind(), at('v').preload(), at('t').wrap(), at('h1').scope()]",
            r#"["content-type","subtitle","auto","soft","row"]"#,
        ),
        // Numbers and texts.
        (
            "[at('i').width(), at('i').height(), at('c').width(), at('em').width(), at('em').height()]",
            r#"[10,0,150,"1",""]"#,
        ),
        (
            "[at('in').min(), at('in').max(), at('m').min(), at('m').max(), at('p').max(), at('p2').max()]",
            r#"["1","",0,5,4,1]"#,
        ),
        (
            "[at('p').value(), at('p').position(), at('p2').value(), at('p2').position()]",
            "[0.75,0.75,0,-1]",
        ),
        (
            "[at('t').rows(), at('t').cols(), at('t').maxLength(), at('in').maxLength(), at('s').size()]",
            "[4,0,0,-1,1]",
        ),
        (
            "[at('li').value(), at('ol').start(), at('co').span(), at('x2').colSpan(), at('x2').rowSpan()]",
            "[4,0,1,3,1]",
        ),
        // Links, with and without the URL of a page.
        (
            "[at('a').protocol(), at('a').host(), at('a').hostname(), at('a').port(), at('a').origin()]",
            r#"["https","H.test","H.test","443","https://H.test:443"]"#,
        ),
        (
            "[at('a').username(), at('a').password(), at('a').pathname(), at('a').search(), at('a').hash()]",
            r##"["u","p w","/p q","?x=1","#f g"]"##,
        ),
        (
            "[at('a2').protocol(), at('a2').href(), at('a2').host(), `${at('a2')}`]",
            r#"[":","","",""]"#,
        ),
        (
            "[at('a3').pathname(), at('a3').href(), at('a4').pathname(), at('a4').protocol()]",
            r#"["/rel/x","rel/x","","mailto"]"#,
        ),
        (
            "[at('a5', URL).href(), at('a5', URL).host(), at('a3', URL).pathname(), at('a2', URL).href()]",
            r#"["http://h:80","h","/dir/rel/x",""]"#,
        ),
        (
            "[first('base').href(), parseHTML('<base>', URL).find('base').get(0).href()]",
            r#"["/b/","http://x.test/dir/p"]"#,
        ),
        (
            "[at('in').formAction(), at('in', URL).formAction(), at('b', URL).formAction()]",
            r#"["fa","http://x.test/dir/fa","http://x.test/dir/p"]"#,
        ),
        (
            "[at('a').relList(), at('a2').relList(), first('link').relList()]",
            r#"[["next","no"],[],["a","b"]]"#,
        ),
        // What is around and within.
        (
            "[at('f').length(), ids(at('f').elements()), ids(at('fs').elements())]",
            r#"[6,"fs in b s s2 t","in"]"#,
        ),
        (
            "[at('in').form().id(), at('o1').form().id(), at('o3').form().id(), at('l').form().id()]",
            r#"["f","f","f","f"]"#,
        ),
        (
            "[ids(at('in').labels()), at('l').control().id(), ids(at('s').labels()), at('in').list().id()]",
            r#"["l","in","","dl"]"#,
        ),
        (
            "[at('o1').index(), at('o2').index(), at('d2').index(), at('s').length(), ids(at('dl').options())]",
            r#"[0,1,1,2,"d1 d2"]"#,
        ),
        (
            "[at('o1').value(), at('o1').text(), at('o2').label(), at('o2').disabled(), at('o1').disabled()]",
            r#"["a &amp; b\n","a & b\n","b",true,false]"#,
        ),
        (
            "[at('s').value(), at('s').selectedIndex(), at('s3').value(), at('s3').selectedIndex()]",
            r#"["B",1,"",-1]"#,
        ),
        (
            "[ids(at('s').selectedOptions()), at('t').value(), at('t').defaultValue(), at('t').length()]",
            r#"["o2","text","text",4]"#,
        ),
        (
            "[at('in').value(), at('in').defaultValue(), at('b').value(), at('ou').value()]",
            r#"["v","v","go<i>x</i>","r"]"#,
        ),
        (
            "[ids(at('tb').rows()), ids(at('bd').rows()), ids(at('r2').cells()), ids(at('tb').tBodies())]",
            r#"["r1 r2","r2","x1 x2","bd"]"#,
        ),
        (
            "[at('tb').caption().id(), at('tb').tHead().id(), at('tb').tFoot() === undefined]",
            r#"["cap","th",true]"#,
        ),
        (
            "[at('x2').cellIndex(), at('r2').rowIndex(), at('r2').sectionRowIndex(), at('h1').cellIndex()]",
            "[1,1,0,0]",
        ),
        (
            "[ids(at('mp').areas()), ids(at('mp').images()), ids(at('v').textTracks()), at('v').muted()]",
            r#"["ar","i2","tk",true]"#,
        ),
        ("[first('title').text(), at('fs').validity() === undefined]", r#"["T & t",true]"#),
        // Attributes.
        (
            "(() => { const a = at('h1').getAttributeNode('scope');
            return [a.name, a.value, a.localName(), a.prefix(), a.owner_element.id()]; })()",
            r#"["scope","row","scope","","h1"]"#,
        ),
        // Methods of other kinds.
        (
            "['rows', 'form', 'href', 'value', 'text', 'elements', 'type'].filter((n) => first('body')[n])",
            "[]",
        ),
        ("['form', 'rows', 'index', 'tabIndex', 'name'].filter((n) => at('a')[n])", "[]"),
        ("['rows', 'href', 'options', 'selected', 'length'].filter((n) => at('in')[n])", "[]"),
        ("['value', 'href', 'method', 'control'].filter((n) => at('tb')[n])", "[]"),
    ] {
        let expression = expression.replace("URL", u);
        assert_eq!(value_with(&imports, &expression), want, "{expression}");
    }
}

#[test]
fn what_is_wrong_is_one_line() {
    for (expression, want) in [
        ("doc.find('a[')", "'a[' is not a CSS selector"),
        ("doc.find('p:indeterminate')", ":indeterminate is not supported"),
        ("doc.find(':nonsense(1)')", "is not a CSS selector"),
        ("doc.find(':not('.repeat(100) + 'a')", "a selector is too long or nests too deep"),
        ("doc.filter(5)", "a selection is narrowed by"),
        ("parseHTML('<div>'.repeat(5000))", "HTML nests elements deeper than 512"),
        ("parseHTML('<p>x'.repeat(300000))", "HTML has more than 500000 nodes"),
        ("parseHTML('x'.repeat(9 << 20))", "HTML is longer than 8 MiB"),
    ] {
        let line = value(expression);
        assert!(line.contains(want) && line.starts_with("/s/main.js:"), "{expression}: {line}");
    }
}

/// Pages that a server may send: every prefix of one, and one without end tags.
#[test]
fn no_page_is_a_panic() {
    let seen = value(
        "(() => { let nodes = 0; for (let end = 0; end <= page.length; end += 3) \
         nodes += parseHTML(page.slice(0, end)).find('*').size(); return nodes > 100; })()",
    );
    assert_eq!(seen, "true");
    let odd = value(
        "parseHTML('<table><tr><p>a<b><i></b>x<select><svg><math><template><td>&#xFFFFFF;&\\0').text().length > 0",
    );
    assert_eq!(odd, "true");
}

#[test]
fn responses_submit_forms_and_follow_links() {
    let mut host = Host::of(
        "import http from 'k6/http';
         export default function () {
             const response = http.get('http://x.test/dir/p');
             console.log(response.html('dt').size(), response.html().find('title').text());
             response.submitForm({ fields: { user: 'new', extra: 5 }, params: { tags: { a: 'b' } } });
             response.clickLink();
             response.clickLink({ selector: 'a.none' });
         }",
    );
    host.serve = Box::new(|_: &Request| ok(PAGE));
    let mut vu = host.vu(1);
    assert_eq!(host.iterate(&mut vu), Ending::Failed);
    assert_eq!(
        host.trace,
        [
            "send GET http://x.test/dir/p",
            "Info 2 A & B",
            "send POST http://x.test/save \
             \"c=on&extra=5&many=1&many=2&one=B&s=ok&t=text&user=new\"",
            "send GET http://x.test/next?x=1#f",
        ]
    );
    let error = vu.error().unwrap().text;
    assert!(error.contains("no link of 'http://x.test/dir/p' matches 'a.none'"), "{error}");
    assert!(error.starts_with("/s/main.js:7:"), "{error}");
}

/// Markup is written as k6 1.8 writes it.
#[test]
fn markup_is_written_again() {
    let page = "<body class='x\"y'>a<br>b<img src=a.png alt='<q>'><p>x &lt; y & w \"q\"</p>\
                <script>if (a<b && c) {}</script><pre>\n\ny</pre><!-- c --><input disabled></body>";
    let inside = "a<br/>b<img src=\"a.png\" alt=\"&lt;q&gt;\"/><p>x &lt; y &amp; w &#34;q&#34;</p>\
                  <script>if (a<b && c) {}</script><pre>\n\ny</pre><!-- c --><input disabled=\"\"/>";
    let imports = format!(
        "import {{ parseHTML }} from 'k6/html'; const doc = parseHTML({});",
        serde_json::to_string(page).unwrap()
    );
    for (expression, want) in [
        ("doc.find('body').html()", inside.to_owned()),
        (
            "doc.find('html').html()",
            format!("<head></head><body class=\"x&#34;y\">{inside}</body>"),
        ),
        ("doc.find('script').html()", "if (a&lt;b &amp;&amp; c) {}".to_owned()),
    ] {
        assert_eq!(value_with(&imports, expression), want, "{expression}");
    }
}
